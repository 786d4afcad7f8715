/**
 * Bits per weight of GGUF quantizations, averages over whole models, measured on a model of 8
 * billion parameters (llama.cpp, tools/quantize/README.md).
 */
export const BITS_PER_WEIGHT = {
  Q8_0: 8.5,
  Q6_K: 6.56,
  Q5_K_M: 5.7,
  Q4_K_M: 4.89,
  IQ4_XS: 4.46,
  Q3_K_L: 4.3,
  IQ3_M: 3.76,
  Q2_K: 3.16,
} as const
export type Quantization = keyof typeof BITS_PER_WEIGHT

/** Facts of a model that its memory follows from. */
export interface ModelShape {
  parameters: number
  layers: number
  kvHeads: number
  /** Width of one head, of keys and of values alike. */
  headDim: number
}

const GIB = 1024 ** 3
/** Context of the GPU, compute buffers and graph. */
const BASE_OVERHEAD_BYTES = 0.55 * GIB
const OVERHEAD_PER_WEIGHT = 0.02
const FLOAT16_BYTES = 2
/** Part of the memory that a model may use; the rest is for the system and its display. */
const USABLE = 0.92

interface MemoryEstimate {
  weightsBytes: number
  kvCacheBytes: number
  overheadBytes: number
  totalBytes: number
}

/** Memory of a model that serves one request of `contextLength` tokens, bytes. */
export const estimateMemory = (
  { parameters, layers, kvHeads, headDim }: ModelShape,
  quantization: Quantization,
  contextLength: number,
): MemoryEstimate => {
  const weightsBytes = Math.round((parameters * BITS_PER_WEIGHT[quantization]) / 8)
  const kvCacheBytes = 2 * layers * kvHeads * headDim * contextLength * FLOAT16_BYTES
  const overheadBytes = Math.round(BASE_OVERHEAD_BYTES + OVERHEAD_PER_WEIGHT * weightsBytes)
  const totalBytes = weightsBytes + kvCacheBytes + overheadBytes
  return { weightsBytes, kvCacheBytes, overheadBytes, totalBytes }
}

/** Bytes that a model may use of so many decimal gigabytes. */
export const usableBytes = (vramGb: number): number => Math.floor(vramGb * 1e9 * USABLE)
