import type { ClientHttp2Stream } from 'node:http2'
import { ShoalError } from '../../shared/errors.ts'
import { CELL_METRICS_PATH } from '../../shared/wire/link.ts'
import type { Fleet } from './fleet.ts'

/** More than a cell with many engines has to say. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * What a cell tells of itself in the words of Prometheus, over its link. Throws `not_found` for a
 * cell nobody enrolled, `cell_unavailable` for one that is away, too old or answers nonsense.
 */
export const askForMetrics = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  signal: AbortSignal,
): Promise<string> => {
  const cell = fleet.cell(cellId)
  if (cell === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
  if (cell.link === undefined) throw unavailable(cellId, 'has no link now')
  const stream = cell.link.request({ ':method': 'GET', ':path': CELL_METRICS_PATH }, undefined)
  const close = () => stream.destroy()
  signal.addEventListener('abort', close)
  try {
    const { status, text } = await read(stream)
    if (status === 404) throw unavailable(cellId, 'is too old to tell its metrics')
    if (status !== 200) throw unavailable(cellId, `answered ${status}`)
    return text
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    throw new ShoalError('cell_unavailable', `cell ${cellId} did not tell its metrics`, { cause })
  } finally {
    signal.removeEventListener('abort', close)
  }
}

const unavailable = (cellId: string, why: string): ShoalError =>
  new ShoalError('cell_unavailable', `cell ${cellId} ${why}`)

const read = async (stream: ClientHttp2Stream): Promise<{ status: number; text: string }> => {
  let status = 0
  stream.on('response', headers => {
    status = headers[':status'] ?? 0
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  if (status === 0 || stream.rstCode !== 0) throw new Error('the stream was cut')
  return { status, text: Buffer.concat(chunks).toString('utf8') }
}
