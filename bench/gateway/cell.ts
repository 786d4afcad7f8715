import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { InferenceBackend } from '../../daemon/daemon-parts.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { answerAtOnce } from './answer.ts'

/**
 * A real daemon with an engine that costs nothing, and the same answers on a plain HTTP/1.1 port
 * for the peers. Arguments: coordinator url, state folder. Prints its port as `port N`.
 */
const [url = '', stateDir = ''] = process.argv.slice(2)

const report: EngineReport = {
  weights: 'echo',
  kind: 'chat',
  models: ['model-a:7b'],
  state: 'ready',
  slots: 4096,
  queue_limit: 100_000,
  slots_busy: 0,
  queued: 0,
  context_length: 2048,
  restarts: 0,
}

const collect = (request: NodeJS.ReadableStream, use: (body: string) => void): void => {
  let body = ''
  request.on('data', piece => {
    body += piece
  })
  request.on('end', () => use(body))
}

const inference: InferenceBackend = {
  name: 'inference',
  start: async () => {},
  reports: () => [report],
  onChange: () => () => {},
  handle: (request, response) =>
    collect(request, body => answerAtOnce(body, response as ServerResponse, true)),
}

const plain = createServer((request: IncomingMessage, response) =>
  collect(request, body => answerAtOnce(body, response, false)),
)
plain.keepAliveTimeout = 600_000
plain.listen(0, '127.0.0.1', () => console.log(`port ${(plain.address() as AddressInfo).port}`))

const config = DaemonConfig.parse({
  state_dir: stateDir,
  coordinator: { url, join_token: process.env.JOIN_TOKEN },
})
const stop = new AbortController()
process.once('SIGTERM', () => {
  stop.abort()
  process.exit()
})
await daemon({
  config,
  env: {},
  inference,
  logger: pino({ level: process.env.LOG ?? 'warn' }, pino.destination(2)),
  signal: stop.signal,
})
