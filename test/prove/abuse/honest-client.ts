import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import type { CellLogin } from '../../../bench/fleet/simulated-cell.ts'
import { RawMqtt } from '../../support/raw-mqtt.ts'
import { type AbuseTarget, chatBody, embeddingBody, HOST } from './target.ts'

const KINDS = ['plain', 'stream', 'embedding', 'healthz', 'control', 'mqtt'] as const
type Kind = (typeof KINDS)[number]

interface ClientTarget extends AbuseTarget {
  /** Port of the control server. */
  controlPort: number
}

interface Outcome {
  /** 0 where no usable answer came. */
  status: number
  /** Code of the connection's error, or the end of the answer; empty for a usable one. */
  reason: string
}

/** One call of the honest client, as it is reported to the parent. */
export interface Call extends Outcome {
  kind: Kind
  /** Time of the start, `performance.timeOrigin + now`, in milliseconds. */
  startedAt: number
  milliseconds: number
}

/** Calls of each kind per second. They start on time, however long earlier ones take. */
const RATES: Record<Kind, number> = {
  plain: 16,
  stream: 12,
  embedding: 8,
  healthz: 16,
  control: 16,
  mqtt: 2,
}
/** Addresses of the supervisors, since each may send only so many requests a minute without a key. */
const SUPERVISORS = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4'] as const
/** More than a cell that served before may be silent until its request moves to another. */
const TIMEOUT_MS = 45_000
/** Characters of the end of an answer, which say how it ended. */
const TAIL_LENGTH = 300

/**
 * A client that does nothing wrong, in a process of its own: chat, plain and streamed, and
 * embeddings over kept connections, and, over a new connection each time, the liveness check and the
 * greeting of a cell over plain MQTT. Argument: `ClientTarget`. Sends each `Call` to its parent, and
 * answers a message with `drained` once all calls that run are reported.
 */
const run = (target: ClientTarget): void => {
  const agent = new Agent({ keepAlive: true })
  const calls: Record<Kind, () => Promise<Outcome>> = {
    plain: () => post(target, agent, '/v1/chat/completions', chatBody('hello')),
    stream: () => post(target, agent, '/v1/chat/completions', chatBody('hello', true)),
    embedding: () => post(target, agent, '/v1/embeddings', embeddingBody('hello')),
    healthz: () => check(target.port, '/healthz'),
    control: () => check(target.controlPort, '/'),
    mqtt: () => greet(target),
  }
  const running = new Set<Promise<void>>()
  const start = (kind: Kind): void => {
    const call = report(kind, calls[kind]).finally(() => running.delete(call))
    running.add(call)
  }
  for (const kind of KINDS) setInterval(start, 1000 / RATES[kind], kind)
  process.on('message', () => void Promise.all(running).then(() => process.send?.('drained')))
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
}

const report = async (kind: Kind, call: () => Promise<Outcome>): Promise<void> => {
  const startMs = performance.now()
  const { status, reason } = await call().catch(toFailure)
  const sent: Call = {
    kind,
    startedAt: performance.timeOrigin + startMs,
    milliseconds: performance.now() - startMs,
    status,
    reason,
  }
  process.send?.(sent)
}

const toFailure = ({ message }: Error): Outcome => ({ status: 0, reason: message })

const post = (
  { port, key }: AbuseTarget,
  agent: Agent,
  path: string,
  body: object,
): Promise<Outcome> => {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  }
  return ask({ port, host: HOST, path, agent, method: 'POST', headers }, text)
}

/** Rejects when there is no whole answer in time. */
const ask = (options: RequestOptions, text?: string): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const asked = request({ ...options, signal }, response => {
      let tail = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        tail = (tail + piece).slice(-TAIL_LENGTH)
      })
      response.on('error', reject)
      response.on('end', () => resolve(toOutcome(response, tail)))
    })
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const { code = error.message } = error
      reject(new Error(asked.reusedSocket ? `${code} on a kept connection` : code))
    })
    asked.end(text)
  })

const toOutcome = (response: IncomingMessage, tail: string): Outcome => {
  const status = isUsable(response, tail) ? (response.statusCode ?? 0) : 0
  return { status, reason: status === 200 ? '' : tail }
}

/** A stream that ended with an error, or a page for people, is of no use to a program. */
const isUsable = ({ headers }: IncomingMessage, tail: string): boolean =>
  /^(application\/json|text\/event-stream|$)/.test(headers['content-type'] ?? '') &&
  !tail.includes('event: error')

let checks = 0

const check = (port: number, path: string): Promise<Outcome> => {
  const localAddress = SUPERVISORS[checks++ % SUPERVISORS.length] as string
  return ask({ port, host: HOST, path, agent: false, localAddress })
}

let greetings = 0

/** One cell after another greets the broker over plain MQTT and leaves. */
const greet = async ({ mqttPort, logins }: AbuseTarget): Promise<Outcome> => {
  const socket = connect(mqttPort, HOST)
  const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS)
  const { id, credential } = logins[greetings++ % logins.length] as CellLogin
  const cell = new RawMqtt(socket)
  const options = { clientId: id, username: id, password: Buffer.from(credential) }
  const { returnCode } = await cell.connect(options).finally(() => clearTimeout(timer))
  socket.destroy()
  return { status: returnCode === 0 ? 200 : 0, reason: `MQTT return code ${returnCode}` }
}

run(JSON.parse(process.argv[2] as string) as ClientTarget)
