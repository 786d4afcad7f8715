import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Logger, pino } from 'pino'
import type { GpuSampler } from '../daemon/gpu/sampler.ts'
import { InferenceConfig } from '../daemon/inference/config.ts'
import { type InferenceService, inferenceService } from '../daemon/services/inference.ts'
import { writeRandomModel } from '../models/gguf/random-model.ts'
import { Catalogue } from '../shared/catalogue.ts'
import { TRAILER_USAGE } from '../shared/wire/link.ts'

import { compare } from './engine/compare.ts'
import type { EngineServer } from './engine/server.ts'
import { startCell, startLlamaServer } from './engine/servers.ts'
import { cpuMs, type ReportRow, report } from './measure.ts'

const SLOTS = 16
const ANSWER_TOKENS = 64
const CONTEXT_LENGTH = 2048

/**
 * Measures one cell's engine through the same HTTP/2 that the link has: tokens per second and CPU
 * per token at several numbers of streams, the fill of the batches, the time to the first token of
 * a long prompt, new and cached, and the time until a cancelled request has left its slot. With the
 * binary of llama.cpp's server, that one beside a whole daemon, over HTTP/1.1, by turns.
 *
 *   npm run bench -- engine [--weights file.gguf] [--llama-server PATH] [--threads 1]
 *
 * Without weights it makes random ones of 100 million parameters. CPU per token is the figure that
 * holds on a busy machine.
 */
export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      weights: { type: 'string' },
      'llama-server': { type: 'string' },
      threads: { type: 'string', default: '1' },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const threads = Number(values.threads)
  const settings = {
    weights: values.weights ?? writeWeights(folder),
    folder,
    slots: SLOTS,
    threads,
    contextLength: CONTEXT_LENGTH,
  }
  try {
    const { rows, latencies } = await measureAlone(settings)
    report('engine', { slots: SLOTS, threads }, rows)
    console.table(latencies)
    const binary = values['llama-server']
    if (binary !== undefined) await measureBeside(binary, settings)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Writes weights of 100 million random parameters, which take as long as trained ones. */
export const writeWeights = (folder: string): string => {
  const path = join(folder, 'random.gguf')
  writeRandomModel(path, {
    embeddingLength: 768,
    blockCount: 12,
    headCount: 12,
    headCountKv: 12,
    feedForwardLength: 2048,
    vocabularySize: 16_384,
    contextLength: CONTEXT_LENGTH,
    type: 'Q8_0',
    seed: 1,
  })
  return path
}

interface Settings extends Readonly<Parameters<typeof startCell>[0]> {
  /** Receives what the engine says of itself, such as its device; warnings by default. */
  logger?: Logger
  /** Source of GPU memory readings, as in a daemon. */
  gpus?: GpuSampler
}

const measureBeside = async (binary: string, settings: Settings): Promise<void> => {
  const servers: EngineServer[] = []
  try {
    servers.push(await startCell(settings))
    servers.push(await startLlamaServer(binary, settings))
    const { speeds, latencies } = await compare(servers, settings.slots)
    report('engine-beside-llama-server', { slots: SLOTS, threads: settings.threads }, speeds)
    console.table(latencies)
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** Measures the engine of a cell in this process, at 1 to 16 streams. */
export const measureAlone = async (
  settings: Settings,
): Promise<{ rows: ReportRow[]; latencies: ReportRow }> => {
  const stop = new AbortController()
  const service = await startService(settings, stop.signal)
  const session = await connect(service)
  const engine = { service, session, enginePid: service.pids()[0] as number }
  await throughput(engine, 1)
  const rows: ReportRow[] = []
  for (const streams of [1, 2, 4, 8, 16]) rows.push(await throughput(engine, streams))
  const latencies = {
    first_token_ms: await firstToken(engine, LONG_PROMPT),
    first_token_cached_ms: await firstToken(engine, LONG_PROMPT),
    cancel_to_free_slot_ms: await measureCancel(engine),
  }
  session.close()
  stop.abort()
  return { rows, latencies }
}

interface Measured {
  service: InferenceService
  session: http2.ClientHttp2Session
  enginePid: number
}

const startService = async (
  { weights, folder, slots, threads, contextLength, logger, gpus }: Settings,
  signal: AbortSignal,
): Promise<InferenceService> => {
  const model = { id: 'm', kind: 'chat', minimum_tier: 'free', weights }
  const service = inferenceService({
    catalogue: Catalogue.parse([{ ...model, context_length: contextLength }]),
    config: InferenceConfig.parse({ slots, threads }),
    stateDir: folder,
    logger: logger ?? pino({ level: 'warn' }),
  })
  if (gpus !== undefined) service.watchGpus(gpus)
  const ready = new Promise<void>((resolve, reject) => {
    service.onChange(() => {
      const [report] = service.reports()
      if (report?.state === 'ready') resolve()
      if (report?.state === 'failed') reject(new Error(report.reason))
    })
  })
  await service.start({ signal, fail: error => console.error(error) })
  await ready
  return service
}

const connect = async (service: InferenceService): Promise<http2.ClientHttp2Session> => {
  const server = http2.createServer((request, response) => service.handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  session.once('close', () => server.close())
  return session
}

const ask = (
  { session }: Measured,
  content: string,
  maxTokens = ANSWER_TOKENS,
): http2.ClientHttp2Stream => {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    'content-type': 'application/json',
  })
  const messages = [{ role: 'user', content }]
  const body = { model: 'm', messages, temperature: 0, max_tokens: maxTokens, stream: true }
  stream.end(JSON.stringify(body))
  stream.once('response', ({ ':status': status }) => {
    if (status !== 200) stream.destroy(new Error(`the cell answered ${status}`))
  })
  return stream
}

const readUsage = async (
  stream: http2.ClientHttp2Stream,
): Promise<{ completion_tokens: number; prompt_tokens: number }> => {
  stream.resume()
  const [trailers] = await once(stream, 'trailers')
  return JSON.parse(trailers[TRAILER_USAGE])
}

const throughput = async (engine: Measured, streams: number): Promise<ReportRow> => {
  const { service, enginePid } = engine
  const before = { at: performance.now(), engine: cpuMs(enginePid), daemon: cpuMs(process.pid) }
  const counts = { ...service.counts()[0] }
  const answers = Array.from({ length: streams }, (_, i) => readUsage(ask(engine, `question ${i}`)))
  const tokens = (await Promise.all(answers)).reduce((sum, a) => sum + a.completion_tokens, 0)
  const seconds = (performance.now() - before.at) / 1000
  const now = service.counts()[0]
  const width = (now?.width ?? 0) - (counts.width ?? 0)
  const active = (now?.active ?? 0) - (counts.active ?? 0)
  return {
    streams,
    tokens_per_second: Math.round(tokens / seconds),
    engine_cpu_ms_per_token: round((cpuMs(enginePid) - before.engine) / tokens),
    bench_and_daemon_cpu_ms_per_token: round((cpuMs(process.pid) - before.daemon) / tokens),
    batch_fill: round(width / active),
  }
}

const round = (value: number): number => Math.round(value * 1000) / 1000

const LONG_PROMPT = 'lorem ipsum '.repeat(140)

const firstToken = async (engine: Measured, content: string): Promise<number> => {
  const startedAt = performance.now()
  const stream = ask(engine, content, 1)
  await once(stream, 'data')
  const ms = performance.now() - startedAt
  await readUsage(stream)
  return Math.round(ms)
}

/** Cancels while the prompt is read. */
const measureCancel = async (engine: Measured): Promise<number> => {
  const { service } = engine
  const countBusy = (): number | undefined => service.reports()[0]?.slots_busy
  const stream = ask(engine, `! ${LONG_PROMPT}`)
  while (countBusy() === 0) await new Promise(setImmediate)
  const startedAt = performance.now()
  stream.close(http2.constants.NGHTTP2_CANCEL)
  while (countBusy() !== 0) await new Promise(setImmediate)
  return Math.round(performance.now() - startedAt)
}
