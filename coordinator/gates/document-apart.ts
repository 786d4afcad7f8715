import { Worker } from 'node:worker_threads'
import { ShoalError } from '../../shared/errors.ts'
import type { ParseResult } from './document-worker.ts'

const FILE = new URL('document-worker.ts', import.meta.url)
/**
 * Time limit for parsing; a shipped policy takes a tenth of a second, mostly to start the thread.
 */
const MOST_MS = 10_000
const MOST_MEMORY_MB = 128
/** Maximum number of documents waiting besides the one being parsed. */
const MOST_WAITING = 4

/**
 * Parses YAML received from a client, in a thread of its own: 60 kB can occupy the parser for 15
 * seconds (each key of a map is compared with all others), during which no other request would be
 * served. Throws `invalid_request` for invalid YAML and for a document that exceeds the time or
 * memory limit, and `rate_limited` when others wait already.
 */
export const documentApart = async (text: string, mostMs: number = MOST_MS): Promise<unknown> => {
  if (waiting > MOST_WAITING)
    throw new ShoalError('rate_limited', `${waiting} documents wait to be read`, {
      retryAfterSeconds: MOST_MS / 1000,
    })
  waiting++
  const mine = last.then(() => parseInWorker(text, mostMs)).finally(() => waiting--)
  last = mine.catch(() => {})
  const answer = await mine
  if ('document' in answer) return answer.document
  throw new ShoalError('invalid_request', `document: ${answer.fault}`, { param: 'document' })
}

/** Tail of the queue: documents are parsed one at a time, which limits the load of many. */
let last: Promise<unknown> = Promise.resolve()
let waiting = 0

const parseInWorker = async (text: string, mostMs: number): Promise<ParseResult> => {
  const { promise, resolve } = Promise.withResolvers<ParseResult>()
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
