import type { LlamaModel } from 'node-llama-cpp'

type Embed = (text: string) => Promise<number[]>

/** Gives vectors of length 1; llama.cpp itself does not scale them. */
export const createEmbedder = async (model: LlamaModel): Promise<Embed & AsyncDisposable> => {
  const context = await model.createEmbeddingContext({ contextSize: 512, threads: 1 })
  const embed = async (text: string): Promise<number[]> => {
    const { vector } = await context.getEmbeddingFor(text)
    const length = Math.hypot(...vector)
    return vector.map(value => value / length)
  }
  return Object.assign(embed, { [Symbol.asyncDispose]: () => context.dispose() })
}

/** Cosine of the angle between two vectors of length 1. */
export const similarity = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] as number), 0)
