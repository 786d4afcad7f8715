import type { EmbeddingAnswer } from '../../../../shared/wire/openai.ts'
import type { Translation } from '../translated-answer.ts'

/** Translates the vectors of `/api/embed`, one at a time: there may be thousands of them. */
export class VectorList implements Translation {
  readonly #nowMs: () => number
  readonly #startedMs: number

  /** @param nowMs monotonic milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#startedMs = nowMs()
  }

  lines(): object[] {
    return []
  }

  *whole(answer: unknown): Iterable<string> {
    const { model, data, usage } = answer as EmbeddingAnswer
    yield `{"model":${JSON.stringify(model)},"embeddings":[`
    for (const [at, { embedding }] of data.entries())
      yield `${at === 0 ? '' : ','}${JSON.stringify(numbersOf(embedding))}`
    const total_duration = Math.round((this.#nowMs() - this.#startedMs) * 1e6)
    const { prompt_tokens: prompt_eval_count } = usage
    const metrics = { total_duration, load_duration: 0, prompt_eval_count }
    yield `],${JSON.stringify(metrics).slice(1)}`
  }
}

/** Translates the only vector of the older `/api/embeddings`. */
export class OneVector implements Translation {
  lines(): object[] {
    return []
  }

  *whole(answer: unknown): Iterable<string> {
    const [first] = (answer as EmbeddingAnswer).data
    yield JSON.stringify({ embedding: first === undefined ? [] : numbersOf(first.embedding) })
  }
}

/** Numbers of a vector that was asked for as base64 of little-endian 32-bit floats. */
const numbersOf = (embedding: number[] | string): number[] => {
  if (typeof embedding !== 'string') return embedding
  const bytes = Buffer.from(embedding, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
}
