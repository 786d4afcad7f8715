import type { TensorType } from './encoding.ts'
import { f32, type Metadata, text, u32 } from './metadata.ts'
import { ALIGNMENT_BYTES } from './writer.ts'

/** The sizes of a llama-architecture model, named as in its GGUF metadata. */
export interface LlamaShape {
  embeddingLength: number
  blockCount: number
  headCount: number
  /** Fewer than `headCount` for grouped-query attention; must divide it. */
  headCountKv: number
  feedForwardLength: number
  vocabularySize: number
  contextLength: number
}

/** How token vectors are pooled into one: `llama_pooling_type` in llama.h. */
export type PoolingType = 'mean' | 'cls' | 'last'
const POOLING_NUMBERS = { mean: 1, cls: 2, last: 3 } as const

/** `general.file_type`: `llama_ftype` in llama.h. */
const FILE_TYPES = { F32: 0, F16: 1, Q8_0: 7 } as const

interface LlamaDescription {
  name: string
  description?: string
  license?: string
  shape: LlamaShape
  type: TensorType
  poolingType?: PoolingType | undefined
}

export const llamaMetadata = (model: LlamaDescription): Metadata => {
  const { shape } = model
  return {
    'general.architecture': text('llama'),
    'general.name': text(model.name),
    ...(model.description && { 'general.description': text(model.description) }),
    ...(model.license && { 'general.license': text(model.license) }),
    'general.file_type': u32(FILE_TYPES[model.type]),
    'general.alignment': u32(ALIGNMENT_BYTES),
    'llama.context_length': u32(shape.contextLength),
    'llama.embedding_length': u32(shape.embeddingLength),
    'llama.block_count': u32(shape.blockCount),
    'llama.feed_forward_length': u32(shape.feedForwardLength),
    'llama.attention.head_count': u32(shape.headCount),
    'llama.attention.head_count_kv': u32(shape.headCountKv),
    'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
    'llama.rope.dimension_count': u32(shape.embeddingLength / shape.headCount),
    'llama.rope.freq_base': f32(10_000),
    'llama.vocab_size': u32(shape.vocabularySize),
    ...(model.poolingType && { 'llama.pooling_type': u32(POOLING_NUMBERS[model.poolingType]) }),
  }
}

/** Name and shape (row length first) of every tensor, in file order. */
export const llamaTensors = (
  shape: LlamaShape,
  { tiedOutput }: { tiedOutput: boolean },
): { name: string; shape: number[] }[] => {
  const width = shape.embeddingLength
  const embedding = [width, shape.vocabularySize]
  return [
    { name: 'token_embd.weight', shape: embedding },
    ...Array.from({ length: shape.blockCount }, (_, block) => blockTensors(shape, block)).flat(),
    { name: 'output_norm.weight', shape: [width] },
    ...(tiedOutput ? [] : [{ name: 'output.weight', shape: embedding }]),
  ]
}

const blockTensors = (shape: LlamaShape, block: number): { name: string; shape: number[] }[] => {
  const width = shape.embeddingLength
  const inner = shape.feedForwardLength
  const keyWidth = (width / shape.headCount) * shape.headCountKv
  const shapes = {
    attn_norm: [width],
    attn_q: [width, width],
    attn_k: [width, keyWidth],
    attn_v: [width, keyWidth],
    attn_output: [width, width],
    ffn_norm: [width],
    ffn_gate: [width, inner],
    ffn_up: [width, inner],
    ffn_down: [inner, width],
  }
  return Object.entries(shapes).map(([part, shape]) => ({
    name: `blk.${block}.${part}.weight`,
    shape,
  }))
}
