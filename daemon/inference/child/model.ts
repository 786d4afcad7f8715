import {
  getLlama,
  InsufficientMemoryError,
  LlamaLogLevel,
  type LlamaModel,
  type Token,
} from 'node-llama-cpp'
import type { LoadOrder } from '../protocol.ts'
import type { Detokenize } from './text.ts'
import type { ModelTokenizer } from './tokens.ts'

/**
 * Loads the weights; nothing is compiled or downloaded. `onProgress` receives the loaded share,
 * from 0 to 1.
 *
 * @param order.kind embedding and rerank contexts run in parallel and share the threads. A chat context has
 * all of them to itself and is not limited here, because the engine would then negotiate its share
 * in each step.
 */
export const loadModel = async (
  order: Pick<LoadOrder, 'file' | 'gpu' | 'threads' | 'kind'>,
  onProgress: (share: number) => void = () => {},
): Promise<LlamaModel> => {
  const llama = await getLlama({
    gpu: order.gpu === 'off' ? false : 'auto',
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    maxThreads: order.kind === 'chat' ? 0 : order.threads,
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => process.stderr.write(`${level}: ${message}\n`),
  })
  return llama.loadModel({ modelPath: order.file, onLoadProgress: onProgress })
}

export const deviceOf = (model: LlamaModel): string => model.llama.gpu || 'cpu'

/**
 * Disables flash attention on a CPU for small heads, where it processes one cache position at a
 * time. With heads of 32 values (1.8M parameters) a token after 900 others took 2.2 ms of CPU with
 * it and 0.8 ms without, while a prompt of 1,700 tokens took 0.1 s with it and 0.25 s without; with
 * heads of 64 values it is the better choice for both.
 */
export const flashAttentionFor = (model: LlamaModel): 'auto' | false => {
  const { attention, embedding_length } = model.fileInfo.architectureMetadata
  const heads = attention?.head_count
  const headSize = typeof heads === 'number' ? (embedding_length ?? 0) / heads : undefined
  return model.llama.gpu === false && headSize !== undefined && headSize < 64 ? false : 'auto'
}

/** SentencePiece adds a space before each text; between pieces of one text it must not. */
export const tokenizerOf = (model: LlamaModel): ModelTokenizer<Token> => ({
  tokenize: (text, special) =>
    model.vocabularyType === 'spm'
      ? model.tokenize(text, special, 'trimLeadingSpace')
      : model.tokenize(text, special),
  beginning: model.tokens.shouldPrependBosToken ? (model.tokens.bos ?? undefined) : undefined,
})

/**
 * A text with more characters than this cannot fit into `tokens` tokens. Such texts never reach the
 * tokenizer, whose time and stack grow with them.
 */
export const mostCharacters = (model: LlamaModel, tokens: number): number =>
  tokens * vocabulary(model).reduce((longest, token) => Math.max(longest, token.length), 1)

const vocabulary = (model: LlamaModel): readonly string[] =>
  model.fileInfo.metadata.tokenizer.ggml.tokens ?? []

/**
 * SentencePiece drops the space before the first word of what it is given.
 *
 * @param marks texts that are shown also where they are special tokens of the model
 */
export const detokenizer = (
  model: Pick<LlamaModel, 'vocabularyType' | 'detokenize' | 'tokenize'>,
  marks: readonly string[] = [],
): Detokenize<Token> => {
  const plain: Detokenize<Token> =
    model.vocabularyType === 'spm'
      ? (tokens, previous) => model.detokenize(tokens, false, previous)
      : tokens => model.detokenize(tokens)
  const hidden = new Map(marks.flatMap(mark => hiddenToken(model, mark)))
  if (hidden.size === 0) return plain
  return (tokens, previous) =>
    tokens.some(token => hidden.has(token))
      ? tokens.map(token => hidden.get(token) ?? plain([token], [])).join('')
      : plain(tokens, previous)
}

/** The special token that a text is, where it is one and would not be shown. */
const hiddenToken = (
  model: Pick<LlamaModel, 'detokenize' | 'tokenize'>,
  text: string,
): [Token, string][] => {
  const [token, ...more] = model.tokenize(text, true)
  const isHidden = token !== undefined && more.length === 0 && model.detokenize([token]) === ''
  return isHidden ? [[token, text]] : []
}

/** The engine ends the process at an id beyond its vocabulary, so each foreign id is checked. */
export const isKnownToken = (model: LlamaModel, id: number): boolean =>
  id < vocabulary(model).length

/** A failure that may pass: other programs use the memory now. */
export const isTransient = (error: unknown): boolean => error instanceof InsufficientMemoryError
