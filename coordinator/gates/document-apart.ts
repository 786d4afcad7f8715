import { Worker } from 'node:worker_threads'
import { ShoalError } from '../../shared/errors.ts'
import type { Parsed } from './document-worker.ts'

const FILE = new URL('document-worker.ts', import.meta.url)
/** A shipped policy takes a tenth of a second, most of it the start of the thread. */
const MOST_MS = 10_000
const MOST_MEMORY_MB = 128
/** Beyond the one that is read. */
const MOST_WAITING = 4

/**
 * The value of a text in YAML that somebody has sent, read in a thread of its own: 60 kB can keep the
 * parser busy for 15 seconds (each key of a map is compared with all others), in which nobody else
 * would be served. Throws `invalid_request` for what is no YAML, or takes too long or too much, and
 * `rate_limited` when others wait already.
 */
export const documentApart = async (text: string, mostMs: number = MOST_MS): Promise<unknown> => {
  if (waiting > MOST_WAITING)
    throw new ShoalError('rate_limited', `${waiting} documents wait to be read`, {
      retryAfterSeconds: MOST_MS / 1000,
    })
  waiting++
  const mine = last.then(() => parsedApart(text, mostMs)).finally(() => waiting--)
  last = mine.catch(() => {})
  const answer = await mine
  if ('document' in answer) return answer.document
  throw new ShoalError('invalid_request', `document: ${answer.fault}`, { param: 'document' })
}

/** One after the other, so that many of them are no load either. */
let last: Promise<unknown> = Promise.resolve()
let waiting = 0

const parsedApart = async (text: string, mostMs: number): Promise<Parsed> => {
  const { promise, resolve } = Promise.withResolvers<Parsed>()
  const worker = new Worker(FILE, {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  })
  const timer = setTimeout(() => resolve({ fault: 'it takes too long to read' }), mostMs)
  worker.once('message', resolve)
  worker.once('error', error => resolve({ fault: `it cannot be read (${error.message})` }))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}
