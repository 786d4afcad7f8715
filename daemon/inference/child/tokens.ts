import type { Piece } from './prompt.ts'

/** Tokenizer functions used from a model. */
export interface ModelTokenizer<Token> {
  /** `special`: names of special tokens become those tokens. */
  tokenize(text: string, special: boolean): readonly Token[]
  /** Token put before every prompt, where the model wants one. */
  beginning: Token | undefined
}

/** The tokens of a prompt; the beginning token once, whether the template writes it or not. */
export const tokenizePieces = <Token>(
  pieces: readonly Piece[],
  { tokenize, beginning }: ModelTokenizer<Token>,
): Token[] => {
  const tokens = pieces.flatMap(({ text, from }) => tokenize(text, from === 'template'))
  if (beginning !== undefined && tokens[0] !== beginning) tokens.unshift(beginning)
  return tokens
}
