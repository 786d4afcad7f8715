import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { FLAG, FRAME, FrameReader } from '../../../../coordinator/gateway/link/frames.ts'
import { openLink } from '../../../../coordinator/gateway/link/link.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

export interface Frame {
  type: number
  flags: number
  id: number
  payload: Buffer
}

/** Encodes a frame; a payload of text is hexadecimal. */
export const frame = (
  type: number,
  flags: number,
  id: number,
  payload: Buffer | string = '',
): Buffer => {
  const content = typeof payload === 'string' ? Buffer.from(payload, 'hex') : payload
  const head = Buffer.alloc(9)
  head.writeUIntBE(content.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, content])
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const setting = (id: number, value: number): Buffer =>
  Buffer.concat([Buffer.from([0, id]), uint32(value)])

export const settings = (...values: Buffer[]): Buffer =>
  frame(FRAME.settings, 0, 0, Buffer.concat(values))

/** Encoded `:status: 200`, and a whole answer without a body. */
export const OK = '88'
export const answer = (id: number): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, id, OK)

/** Encodes a field without Huffman coding. */
export const field = (name: string, value: string): string => {
  const text = (words: string) => {
    const bytes = Buffer.from(words, 'latin1')
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  }
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]).toString('hex')
}

const PREFACE_BYTES = 24

/** Both ends of a connection, the cell's end first. */
export const sockets = async (t: Test): Promise<[cell: Socket, coordinator: Socket]> => {
  const server = createServer({ noDelay: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cell = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay(true)
  const [coordinator] = (await once(server, 'connection')) as [Socket]
  server.close()
  cell.on('error', () => {})
  t.teardown(() => {
    cell.destroy()
    coordinator.destroy()
  })
  return [cell, coordinator]
}

/** Frames that a cell has received, and a way to wait for one. */
export const collectFrames = (cell: Socket) => {
  const heard: Frame[] = []
  let wake = () => {}
  const reader = new FrameReader({
    handleFrame: (type, flags, id, bytes, start, end) => {
      heard.push({ type, flags, id, payload: bytes.subarray(start, end) })
      wake()
      return false
    },
  })
  let left = PREFACE_BYTES
  cell.on('data', (piece: Buffer) => {
    const skipped = Math.min(left, piece.length)
    left -= skipped
    reader.read(piece.subarray(skipped))
  })
  const closed = once(cell, 'close').then(() => wake())
  /** Removes and returns the first frame of a type; undefined when the socket ends before. */
  const next = async (type: number): Promise<Frame | undefined> => {
    for (;;) {
      const at = heard.findIndex(frame => frame.type === type)
      if (at !== -1) return heard.splice(at, 1)[0]
      if (cell.destroyed) return undefined
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return { heard, next, closed }
}

interface RawCellOptions {
  pingEveryMs?: number
  open?: typeof openLink
  /** Settings with which the cell greets. */
  settings?: Buffer[]
}

/** A link to a cell whose bytes the test writes. */
export const rawCell = async (
  t: Test,
  { pingEveryMs = 60_000, open = openLink }: RawCellOptions = {},
) => {
  const [cell, socket] = await sockets(t)
  const ear = collectFrames(cell)
  const reasons: string[] = []
  const logger = {
    info: ({ reason }: { reason: string }) => reasons.push(reason),
  } as unknown as Logger
  const { promise: up, resolve } = Promise.withResolvers<CellLink>()
  const { promise: isDown, resolve: down } = Promise.withResolvers<void>()
  const link = open({
    runtime: systemRuntime,
    cellId: 'a',
    socket,
    logger,
    pingEveryMs,
    onUp: resolve,
    onDown: () => down(),
  })
  t.teardown(() => link.close())
  const send = (...frames: Buffer[]) => cell.write(Buffer.concat(frames))
  return { cell, socket, link, up, isDown, reasons, send, ...ear }
}

type RawCell = Awaited<ReturnType<typeof rawCell>>

/** A raw cell that has sent its settings. */
export const greetedCell = async (t: Test, options: RawCellOptions = {}): Promise<RawCell> => {
  const cell = await rawCell(t, options)
  cell.send(settings(...(options.settings ?? [])))
  await cell.up
  return cell
}
