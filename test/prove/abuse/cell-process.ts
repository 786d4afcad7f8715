import { connect, type Socket } from 'node:net'
import { type CellLogin, SimulatedCell } from '../../../bench/fleet/simulated-cell.ts'
import { LINK_PATH, LINK_PROTOCOL } from '../../../shared/wire/link.ts'
import { type Behaviour, behaviours } from './behaviours.ts'
import { type AbuseTarget, HOST } from './target.ts'

const SAMPLE_MS = 2000
const AGAIN_MS = 200

interface CellOptions {
  behaviour: Behaviour
  target: AbuseTarget
}

/**
 * Cells of one behaviour, with both of their connections. Argument: `CellOptions`. Tells its parent
 * `ready` when the coordinator knows them all.
 */
const run = ({ behaviour, target }: CellOptions): void => {
  const { engines, serve, againMs = AGAIN_MS, flood } = behaviours[behaviour]
  const unready = new Set(target.logins.map(({ id }) => id))
  const onReady = (id: string): void => {
    if (unready.delete(id) && unready.size === 0) process.send?.('ready')
  }
  for (const login of target.logins) {
    const control = { host: HOST, port: target.port, kind: 'coordinator' as const }
    const cell = new SimulatedCell(
      login,
      control,
      {
        ready: () => {
          onReady(login.id)
          if (flood) pour(cell)
        },
        onAcknowledged: () => {},
        onClosed: () => setTimeout(() => cell.open(), AGAIN_MS),
      },
      engines,
    )
    cell.open()
    setInterval(() => cell.sendSample(), SAMPLE_MS)
    keepLink(target.port, login, serve, againMs)
  }
  process.once('disconnect', () => process.exit())
}

/** Samples without a pause, a few hundred for each turn of the event loop. */
const pour = (cell: SimulatedCell): void => {
  for (let sent = 0; sent < 300; sent++) cell.sendSample()
  if (cell.ready) setImmediate(pour, cell)
}

/** Dials the data plane whenever it is down. */
const keepLink = (
  port: number,
  login: CellLogin,
  serve: (socket: Socket) => void,
  againMs: number,
): void => {
  const socket = connect(port, HOST).setNoDelay(true)
  const basic = Buffer.from(`${login.id}:${login.credential}`).toString('base64')
  socket.write(
    `GET ${LINK_PATH} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\n` +
      `Upgrade: ${LINK_PROTOCOL}\r\nAuthorization: Basic ${basic}\r\n\r\n`,
  )
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(keepLink, againMs, port, login, serve, againMs))
  let head: Buffer = Buffer.alloc(0)
  const read = (bytes: Buffer): void => {
    head = Buffer.concat([head, bytes])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    socket.off('data', read)
    if (!head.toString('latin1', 0, 12).endsWith('101')) return void socket.destroy()
    socket.pause()
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
    serve(socket)
  }
  socket.on('data', read)
}

run(JSON.parse(process.argv[2] as string) as CellOptions)
