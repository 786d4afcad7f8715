import type { TensorType } from './encoding.ts'
import { f32, type Metadata, text, texts, u32 } from './metadata.ts'
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

/**
 * Labels of a ranking head: the engine takes the probability of the first as the score. Weights that
 * rank are of the architecture qwen3, whose blocks have two norms more than llama's.
 */
const RANKING_LABELS = ['yes', 'no'] as const
const RANK_POOLING_NUMBER = 4

/** `general.file_type`: `llama_ftype` in llama.h. */
const FILE_TYPES = { F32: 0, F16: 1, Q8_0: 7 } as const

interface LlamaDescription {
  name: string
  description?: string
  license?: string
  shape: LlamaShape
  type: TensorType
  poolingType?: PoolingType | undefined
  /** True for weights that score documents instead of writing text. */
  ranks?: boolean | undefined
}

export const llamaMetadata = (model: LlamaDescription): Metadata => {
  const { shape } = model
  const architecture = model.ranks ? 'qwen3' : 'llama'
  const own: Metadata = {
    context_length: u32(shape.contextLength),
    embedding_length: u32(shape.embeddingLength),
    block_count: u32(shape.blockCount),
    feed_forward_length: u32(shape.feedForwardLength),
    'attention.head_count': u32(shape.headCount),
    'attention.head_count_kv': u32(shape.headCountKv),
    'attention.layer_norm_rms_epsilon': f32(1e-5),
    'rope.dimension_count': u32(shape.embeddingLength / shape.headCount),
    'rope.freq_base': f32(10_000),
    vocab_size: u32(shape.vocabularySize),
    ...(model.poolingType && { pooling_type: u32(POOLING_NUMBERS[model.poolingType]) }),
    ...(model.ranks && {
      pooling_type: u32(RANK_POOLING_NUMBER),
      'classifier.output_labels': texts(RANKING_LABELS),
    }),
  }
  return {
    'general.architecture': text(architecture),
    'general.name': text(model.name),
    ...(model.description && { 'general.description': text(model.description) }),
    ...(model.license && { 'general.license': text(model.license) }),
    'general.file_type': u32(FILE_TYPES[model.type]),
    'general.alignment': u32(ALIGNMENT_BYTES),
    ...Object.fromEntries(
      Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value]),
    ),
  }
}

/** Name and shape (row length first) of every tensor, in file order. */
export const llamaTensors = (
  shape: LlamaShape,
  { tiedOutput, ranks = false }: { tiedOutput: boolean; ranks?: boolean | undefined },
): { name: string; shape: number[] }[] => {
  const width = shape.embeddingLength
  const embedding = [width, shape.vocabularySize]
  return [
    { name: 'token_embd.weight', shape: embedding },
    ...Array.from({ length: shape.blockCount }, (_, block) =>
      blockTensors(shape, block, ranks),
    ).flat(),
    { name: 'output_norm.weight', shape: [width] },
    ...(tiedOutput ? [] : [{ name: 'output.weight', shape: embedding }]),
    ...(ranks ? [{ name: 'cls.output.weight', shape: [width, RANKING_LABELS.length] }] : []),
  ]
}

const blockTensors = (
  shape: LlamaShape,
  block: number,
  ranks: boolean,
): { name: string; shape: number[] }[] => {
  const width = shape.embeddingLength
  const inner = shape.feedForwardLength
  const headWidth = width / shape.headCount
  const keyWidth = headWidth * shape.headCountKv
  const shapes = {
    attn_norm: [width],
    attn_q: [width, width],
    attn_k: [width, keyWidth],
    attn_v: [width, keyWidth],
    attn_output: [width, width],
    ...(ranks && { attn_q_norm: [headWidth], attn_k_norm: [headWidth] }),
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
