import type { ClientHttp2Stream } from 'node:http2'
import { ShoalError } from '../../shared/errors.ts'
import type { CellLink } from './cell-link.ts'
import type { Fleet } from './fleet.ts'

export interface Question {
  path: string
  /** What is asked for, at the end of a sentence: `its metrics`. */
  what: string
  maxBytes: number
}

/**
 * One short question to a cell over its link. Throws `not_found` for a cell nobody enrolled,
 * `cell_unavailable` for one that is away or whose answer was cut off or too long.
 */
export const askCell = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  question: Question,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> => {
  const cell = fleet.cell(cellId)
  if (cell === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
  if (cell.link === undefined) throw unavailable(cellId, 'has no link now')
  try {
    return await ask(cell.link, question, signal)
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    throw unavailable(cellId, `did not tell ${question.what}`, cause)
  }
}

export const unavailable = (cellId: string, why: string, cause?: unknown): ShoalError =>
  new ShoalError('cell_unavailable', `cell ${cellId} ${why}`, { cause })

const ask = async (link: CellLink, { path, maxBytes }: Question, signal: AbortSignal) => {
  signal.throwIfAborted()
  const stream = link.request({ ':method': 'GET', ':path': path }, undefined)
  const close = () => stream.destroy()
  signal.addEventListener('abort', close)
  try {
    return await read(stream, maxBytes)
  } finally {
    signal.removeEventListener('abort', close)
  }
}

const read = async (stream: ClientHttp2Stream, maxBytes: number) => {
  let status = 0
  stream.on('response', headers => {
    status = headers[':status'] ?? 0
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (status === 0 || stream.rstCode !== 0) throw new Error('the stream was cut')
  return { status, text: Buffer.concat(chunks).toString('utf8') }
}
