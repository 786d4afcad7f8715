import type { ModelKind } from '../../../shared/catalogue.ts'
import type { GgufFacts } from '../gguf.ts'

/** Properties of a model that determine its engine's memory. */
type ModelShape = Pick<
  GgufFacts,
  | 'fileBytes'
  | 'blockCount'
  | 'embeddingLength'
  | 'headCount'
  | 'headCountKv'
  | 'keyLength'
  | 'valueLength'
  | 'vocabularySize'
>

interface Load {
  kind: ModelKind
  slots: number
  /** Tokens of one slot. */
  contextLength: number
}

/** Keys and values are kept as F16. */
const BYTES_OF_VALUE = 2
/** Tokens that a chat engine computes at once; the other kinds take a whole context. */
const BATCH_TOKENS = 512
/** Rows as wide as the model that a layer keeps while it computes one token, four bytes each. */
const ROWS = 8
/** The engine's own process with everything that does not grow with the model. */
const PROCESS_BYTES = 128 * 1024 * 1024

/**
 * Bytes that an engine of these weights will take: the weights as they lie in the file, keys and
 * values of all slots (layers x kept heads x (key + value length) x 2 bytes for each token), and
 * what one step computes with: for a chat model 512 tokens of 8 rows and the logits, for the other
 * kinds the rows of all slots. What the header does not tell is taken at its most: a
 * model whose heads differ between the layers counts as one that keeps them all, and a window of
 * attention as the whole context.
 */
export const memoryNeedBytes = (shape: ModelShape, load: Load): number => {
  const cacheBytes = load.slots * load.contextLength * cacheBytesPerToken(shape)
  return Math.ceil(shape.fileBytes + cacheBytes + stepBytes(shape, load) + PROCESS_BYTES)
}

const stepBytes = ({ embeddingLength, vocabularySize }: ModelShape, load: Load): number =>
  load.kind === 'chat'
    ? BATCH_TOKENS * (vocabularySize + ROWS * embeddingLength) * 4
    : load.slots * load.contextLength * ROWS * embeddingLength * 4

const cacheBytesPerToken = (shape: ModelShape): number => {
  const { blockCount, embeddingLength, headCount, headCountKv = headCount } = shape
  if (headCount === undefined || headCountKv === undefined)
    return blockCount * 2 * embeddingLength * BYTES_OF_VALUE
  const usual = embeddingLength / Math.max(1, headCount)
  const { keyLength = usual, valueLength = usual } = shape
  return blockCount * headCountKv * (keyLength + valueLength) * BYTES_OF_VALUE
}
