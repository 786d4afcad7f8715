import { once } from 'node:events'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { pino } from 'pino'
import type { CellLink } from '../../coordinator/fleet/cells/cell-link.ts'
import { openLink } from '../../coordinator/gateway/link/link.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { TRAILER_USAGE } from '../../shared/wire/link.ts'

export type CellHandler = (request: Http2ServerRequest, response: Http2ServerResponse) => void

export const silent = pino({ level: 'silent' })

export const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/** A real link to a cell whose answers the test writes: HTTP/2 over a dialled TCP socket. */
export interface LinkedCell {
  link: CellLink
  /** Cuts the wire without a word, as kill -9 does. */
  cut(): void
  /** Lets nothing through any more, as an unplugged cable does. */
  freeze(): void
  close(): Promise<void>
  isDown: Promise<void>
}

const startListening = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer({ noDelay: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

const dial = async (server: Server, port: number): Promise<[Socket, Socket]> => {
  const dialled = connect({ port, host: '127.0.0.1', noDelay: true })
  dialled.on('error', () => {})
  const [accepted] = (await once(server, 'connection')) as [Socket]
  accepted.on('error', () => {})
  return [dialled, accepted]
}

/** Two ends of a TCP connection with a stretch of wire between them that can be frozen. */
const wire = async () => {
  const { server, port } = await startListening()
  const [cellEnd, left] = await dial(server, port)
  const [right, coordinatorEnd] = await dial(server, port)
  server.close()
  left.pipe(right).pipe(left)
  left.on('close', () => right.destroy())
  right.on('close', () => left.destroy())
  return { cellEnd, coordinatorEnd, freeze: () => left.unpipe(right) }
}

export const linkCell = async (
  cellId: string,
  handler: CellHandler,
  pingEveryMs = 5000,
  open: typeof openLink = openLink,
): Promise<LinkedCell> => {
  const { cellEnd, coordinatorEnd: socket, freeze } = await wire()
  const cellServer = createHttp2Server(handler)
  cellServer.on('sessionError', () => {})
  cellServer.emit('connection', cellEnd)
  let onDown: () => void = () => {}
  const isDown = new Promise<void>(resolve => {
    onDown = resolve
  })
  const link = await new Promise<CellLink>(up =>
    open({
      runtime: systemRuntime,
      cellId,
      socket,
      logger: silent,
      pingEveryMs,
      onUp: up,
      onDown: () => onDown(),
    }),
  )
  const close = async (): Promise<void> => {
    link.close()
    cellEnd.destroy()
    await isDown
  }
  return { link, cut: () => cellEnd.destroy(), freeze, close, isDown }
}

/** Ends an answer as a cell does: with the usage trailer. */
export const endWithUsage = (response: Http2ServerResponse): void => {
  response.addTrailers({ [TRAILER_USAGE]: JSON.stringify(USAGE) })
  response.end()
}
