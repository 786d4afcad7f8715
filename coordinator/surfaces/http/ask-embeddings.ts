import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { LRUCache } from 'lru-cache'
import type { Catalogue } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { EmbeddingAnswer } from '../../../shared/wire/openai.ts'
import { modelsOfTier } from '../../access/quota/tier-models.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { EmbeddingCaller, Embeddings, Vector } from '../../insight/knowledge/embeddings.ts'
import type { Inference } from './inference.ts'
import { InnerAnswer } from './inner-answer.ts'

interface EmbeddingParts {
  inference: Pick<Inference, 'infer'>
  fleet: Pick<Fleet, 'serves'>
  catalogue: Catalogue
}

/** Numbers of the vectors that are remembered: about 20 MB. */
const MOST_NUMBERS = 2_500_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

export const createEmbeddings = ({ inference, fleet, catalogue }: EmbeddingParts): Embeddings => {
  const known = new LRUCache<string, Vector>({
    maxSize: MOST_NUMBERS,
    sizeCalculation: vector => Math.max(1, vector.length),
  })
  return {
    find: ({ tier }) =>
      modelsOfTier(catalogue, tier).find(({ id, kind }) => kind === 'embedding' && fleet.serves(id))
        ?.id,
    embed: async (model, texts, by) => {
      const keys = texts.map(text => `${model} ${createHash('sha256').update(text).digest('hex')}`)
      const vectors = keys.map(key => known.get(key))
      const missing = [...new Set(texts.filter((_, at) => vectors[at] === undefined))]
      const asked = missing.length === 0 ? [] : await askEmbeddings(inference, model, missing, by)
      const fresh = new Map(missing.map((text, at) => [text, asked[at] as Vector]))
      return texts.map((text, at) => {
        const vector = vectors[at] ?? (fresh.get(text) as Vector)
        known.set(keys[at] as string, vector)
        return vector
      })
    },
  }
}

const ROUTE = '/v1/embeddings'

const askEmbeddings = async (
  inference: Pick<Inference, 'infer'>,
  model: string,
  input: string[],
  { key, tenantId, requestId, signal }: EmbeddingCaller,
): Promise<Vector[]> => {
  signal.throwIfAborted()
  const pieces: Buffer[] = []
  let bytes = 0
  const answer = new InnerAnswer(async piece => {
    bytes += piece.length
    if (bytes > MAX_ANSWER_BYTES)
      throw new ShoalError('cell_unavailable', "the model's answer is longer than 32 MiB")
    pieces.push(piece)
  })
  const closed = once(answer, 'close')
  closed.catch(() => {})
  const leave = () => answer.destroy()
  signal.addEventListener('abort', leave, { once: true })
  const body = { model, input, encoding_format: 'float' }
  try {
    await inference.infer(
      {
        id: requestId,
        address: '',
        route: ROUTE,
        headers: {},
        key,
        tenantId,
        body,
        rawBody: Buffer.from(JSON.stringify(body)),
        response: answer,
      },
      'embedding',
      { model, stream: false },
    )
    await closed
  } finally {
    signal.removeEventListener('abort', leave)
  }
  signal.throwIfAborted()
  const error = answer.refusal()
  if (error !== undefined) throw error
  return readVectors(Buffer.concat(pieces), input.length)
}

/** Throws `cell_unavailable` for an answer that is not what was asked for. */
const readVectors = (body: Buffer, count: number): Vector[] => {
  const { data } = EmbeddingAnswer.safeParse(parseJson(String(body)))
  const rows = data?.data.toSorted((a, b) => a.index - b.index) ?? []
  const vectors = rows.flatMap(({ embedding }) => (Array.isArray(embedding) ? [embedding] : []))
  if (vectors.length === count) return vectors
  const message = `the model returned ${vectors.length} vectors for ${count} texts`
  throw new ShoalError('cell_unavailable', message)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
