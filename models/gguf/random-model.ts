import type { TensorType } from './encoding.ts'
import { type LlamaShape, llamaMetadata, llamaTensors, type PoolingType } from './llama.ts'
import { byteTokens, CONTROL_TOKENS, type Tokenizer, tokenizerMetadata } from './tokenizer.ts'
import { type WrittenTensor, writeGguf } from './writer.ts'

interface RandomModel extends LlamaShape {
  type: Exclude<TensorType, 'F32'>
  /** Equal seeds and shapes give equal files. */
  seed: number
  poolingType?: PoolingType
  /** True for weights that score documents instead of writing text. */
  ranks?: boolean
  /** Last tokens of the vocabulary, which the model does not generate on its own. */
  words?: readonly string[]
}

const LETTERS = 'etaoinshrdlucmfwypvbgkjqxz'
const PIECE_VALUES = 1 << 16

/**
 * Writes a valid model with random weights, for tests and measurements where only the size
 * matters. It talks gibberish in lower-case letters and does not end its turn by itself under
 * greedy sampling, so that a measurement gets as many tokens as it asks for.
 */
export const writeRandomModel = (path: string, model: RandomModel): void => {
  checkShape(model)
  const tokenizer = fillerTokenizer(model.vocabularySize, model.words ?? [])
  const random = randomNumbers(model.seed)
  const metadata = {
    ...llamaMetadata({
      name: 'random weights',
      shape: model,
      type: model.type,
      poolingType: model.poolingType,
      ranks: model.ranks,
    }),
    ...tokenizerMetadata(tokenizer),
  }
  const tensors = llamaTensors(model, { tiedOutput: false, ranks: model.ranks }).map(
    ({ name, shape }): WrittenTensor => ({
      name,
      shape,
      type: shape.length === 1 ? 'F32' : model.type,
      values: () => tensorValues(name, shape, tokenizer, random),
    }),
  )
  writeGguf(path, metadata, tensors)
}

const checkShape = (model: RandomModel): void => {
  const headSize = model.embeddingLength / model.headCount
  if (!Number.isInteger(headSize) || headSize % 2 !== 0) {
    throw new RangeError(`head size ${headSize} is not an even number`)
  }
  if (model.headCount % model.headCountKv !== 0) {
    throw new RangeError(`${model.headCountKv} key heads do not divide ${model.headCount} heads`)
  }
  if (model.embeddingLength % 32 !== 0 || model.feedForwardLength % 32 !== 0) {
    throw new RangeError('embedding and feed-forward length must be multiples of 32')
  }
  if (model.vocabularySize < 259) {
    throw new RangeError('the vocabulary needs 259 entries for control and byte tokens')
  }
}

/** Tokens beyond the bytes are made by adding one letter to an earlier token, shortest first. */
const fillerTokenizer = (wholeSize: number, ending: readonly string[]): Tokenizer => {
  const size = wholeSize - ending.length
  const tokens = [...CONTROL_TOKENS, ...byteTokens()]
  const merges: string[] = []
  const words = [...LETTERS]
  for (let next = 0; tokens.length < size; next++) {
    const word = words[next] as string
    for (const letter of LETTERS.slice(0, size - tokens.length)) {
      merges.push(`${word} ${letter}`)
      tokens.push(word + letter)
      words.push(word + letter)
    }
  }
  return { tokens: [...tokens, ...ending], merges }
}

const tensorValues = (
  name: string,
  shape: readonly number[],
  tokenizer: Tokenizer,
  random: (length: number, scale: number) => Float32Array,
): Iterable<Float32Array> => {
  const [width, rows] = shape as [number, number?]
  if (rows === undefined) return [new Float32Array(width).fill(1)]
  if (name === 'output.weight') return outputRows(width, tokenizer, random)
  return pieces(width, rows, length => random(length, 1 / Math.sqrt(width)))
}

/** Rows of zeros give the score 0, which never wins against the best of many random scores. */
const outputRows = function* (
  width: number,
  { tokens }: Tokenizer,
  random: (length: number, scale: number) => Float32Array,
): Iterable<Float32Array> {
  for (const token of tokens) {
    yield /^[a-z]+$/.test(token) ? random(width, 1) : new Float32Array(width)
  }
}

const pieces = function* (
  width: number,
  rows: number,
  make: (length: number) => Float32Array,
): Iterable<Float32Array> {
  const rowsPerPiece = Math.max(1, Math.floor(PIECE_VALUES / width))
  for (let row = 0; row < rows; row += rowsPerPiece) {
    yield make(width * Math.min(rowsPerPiece, rows - row))
  }
}

/** Evenly distributed numbers with the standard deviation `scale`, from a xorshift generator. */
const randomNumbers = (seed: number) => {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 1
  return (length: number, scale: number): Float32Array => {
    const values = new Float32Array(length)
    const factor = (scale * Math.sqrt(3)) / 2 ** 31
    for (let i = 0; i < length; i++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      values[i] = state * factor
    }
    return values
  }
}
