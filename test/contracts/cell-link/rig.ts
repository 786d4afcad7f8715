import { randomBytes } from 'node:crypto'
import type { Http2ServerResponse } from 'node:http2'
import type { Test } from 'tap'
import type { openLink } from '../../../coordinator/gateway/link/link.ts'
import { type CellHandler, endWithUsage, type LinkedCell, linkCell } from '../../support/cell.ts'

/** Makes a link over the coordinator's end of a socket; the exchangeable part. */
export type OpenLink = typeof openLink

export const GET = { method: 'GET', path: '/' } as const

/** A link to a server of `node:http2`, as the cells of a fleet are. */
export const cellWith = async (
  t: Test,
  open: OpenLink,
  handler: CellHandler,
  pingEveryMs?: number,
): Promise<LinkedCell> => {
  const cell = await linkCell('a', handler, pingEveryMs, open)
  t.teardown(() => cell.close())
  return cell
}

/** Answers a request with its own body, which is read to the end first. */
export const echoWhole: CellHandler = async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  response.setHeader('x-request', JSON.stringify([request.method, request.url, request.headers]))
  response.write(Buffer.concat(pieces))
  endWithUsage(response)
}

/** Answers a request with its own body while that arrives. */
export const echoStream: CellHandler = (request, response) => {
  request.pipe(response, { end: false })
  request.on('end', () => endWithUsage(response))
}

/** Writes an answer of this size as fast as the link takes it; `onWrite` is called with each piece. */
export const flood = (
  response: Http2ServerResponse,
  bytes: number,
  onWrite: (bytes: number) => void = () => {},
): void => {
  if (bytes === 0) {
    endWithUsage(response)
    return
  }
  const piece = Math.min(bytes, 16_384)
  onWrite(piece)
  response.write(randomBytes(piece), () => flood(response, bytes - piece, onWrite))
}
