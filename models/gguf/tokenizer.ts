import { bool, i32s, type Metadata, text, texts, u32 } from './metadata.ts'

/** Byte-level BPE as GPT-2 has it: the id of a token is its place in `tokens`. */
export interface Tokenizer {
  tokens: readonly string[]
  /** "left right", the most important first. Each result is a token. */
  merges: readonly string[]
}

/** First entries of every vocabulary here. */
export const CONTROL_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const
const START_ID = 0
const TURN_END_ID = 2

/** ChatML; roles are written unchanged. */
const CHAT_TEMPLATE = [
  '{% for message in messages %}',
  "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}",
  '{% endfor %}',
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
].join('')

/**
 * The 256 byte tokens: printable bytes stand for themselves, the others are moved to characters
 * from U+0100 on (`bytes_to_unicode` of GPT-2).
 */
export const byteTokens = (): string[] => {
  let moved = 0
  return Array.from({ length: 256 }, (_, byte) => {
    const printable =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
    return String.fromCharCode(printable ? byte : 256 + moved++)
  })
}

export const tokenizerMetadata = ({ tokens, merges }: Tokenizer): Metadata => ({
  'tokenizer.ggml.model': text('gpt2'),
  'tokenizer.ggml.pre': text('gpt-2'),
  'tokenizer.ggml.tokens': texts(tokens),
  'tokenizer.ggml.token_type': i32s(tokens.map((_, id) => (id < CONTROL_TOKENS.length ? 3 : 1))),
  'tokenizer.ggml.merges': texts(merges),
  'tokenizer.ggml.bos_token_id': u32(START_ID),
  'tokenizer.ggml.eos_token_id': u32(TURN_END_ID),
  'tokenizer.ggml.eot_token_id': u32(TURN_END_ID),
  'tokenizer.ggml.add_bos_token': bool(true),
  'tokenizer.chat_template': text(CHAT_TEMPLATE),
})
