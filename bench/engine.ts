/**
 * Measures one cell's engine through the same HTTP/2 that the link has: tokens per second and CPU
 * per token at several numbers of streams, the fill of the batches, the time to the first token of
 * a long prompt, new and cached, and the time until a cancelled request has left its slot.
 *
 *   node bench/engine.ts [weights.gguf]
 *
 * Without an argument it makes random weights of 100 million parameters. CPU per token is the figure
 * that holds on a busy machine.
 */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { InferenceConfig } from '../daemon/inference/config.ts'
import { type InferenceService, inferenceService } from '../daemon/services/inference.ts'
import { writeRandomModel } from '../models/gguf/random-model.ts'
import { Catalogue } from '../shared/catalogue.ts'
import { TRAILER_USAGE } from '../shared/wire/link.ts'

const SLOTS = 16
const ANSWER_TOKENS = 64
/** Linux counts CPU time in units of 10 ms (`getconf CLK_TCK` is 100). */
const TICK_MS = 10

const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
const stop = new AbortController()

const weightsFile = (): string => {
  const given = process.argv[2]
  if (given !== undefined) return given
  const path = join(folder, 'random.gguf')
  writeRandomModel(path, {
    embeddingLength: 768,
    blockCount: 12,
    headCount: 12,
    headCountKv: 12,
    feedForwardLength: 2048,
    vocabularySize: 16_384,
    contextLength: 2048,
    type: 'Q8_0',
    seed: 1,
  })
  return path
}

const startService = async (): Promise<InferenceService> => {
  const service = inferenceService({
    catalogue: Catalogue.parse([
      { id: 'm', kind: 'chat', minimum_tier: 'free', weights: weightsFile(), context_length: 2048 },
    ]),
    config: InferenceConfig.parse({ slots: SLOTS }),
    stateDir: folder,
    logger: pino({ level: 'warn' }),
  })
  const ready = new Promise<void>((resolve, reject) => {
    service.onChange(() => {
      const [report] = service.reports()
      if (report?.state === 'ready') resolve()
      if (report?.state === 'failed') reject(new Error(report.reason))
    })
  })
  await service.start({ signal: stop.signal, fail: error => console.error(error) })
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

const service = await startService()
const session = await connect(service)
const enginePid = service.pids()[0] as number

const ask = (content: string, maxTokens = ANSWER_TOKENS): http2.ClientHttp2Stream => {
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

const finished = async (
  stream: http2.ClientHttp2Stream,
): Promise<{ completion_tokens: number; prompt_tokens: number }> => {
  stream.resume()
  const [trailers] = await once(stream, 'trailers')
  return JSON.parse(trailers[TRAILER_USAGE])
}

/** User and system time of a process, milliseconds (proc(5), stat). */
const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

const throughput = async (streams: number): Promise<Record<string, unknown>> => {
  const before = { at: performance.now(), engine: cpuMs(enginePid), daemon: cpuMs(process.pid) }
  const counts = { ...service.counts()[0] }
  const answers = Array.from({ length: streams }, (_, i) => finished(ask(`question ${i}`)))
  const tokens = (await Promise.all(answers)).reduce((sum, a) => sum + a.completion_tokens, 0)
  const seconds = (performance.now() - before.at) / 1000
  const now = service.counts()[0]
  const width = (now?.width ?? 0) - (counts.width ?? 0)
  const active = (now?.active ?? 0) - (counts.active ?? 0)
  return {
    streams,
    tokens_per_second: Math.round(tokens / seconds),
    engine_cpu_ms_per_token: rounded((cpuMs(enginePid) - before.engine) / tokens),
    bench_and_daemon_cpu_ms_per_token: rounded((cpuMs(process.pid) - before.daemon) / tokens),
    batch_fill: rounded(width / active),
  }
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000

const LONG_PROMPT = 'lorem ipsum '.repeat(140)

const firstToken = async (content: string): Promise<number> => {
  const startedAt = performance.now()
  const stream = ask(content, 1)
  await once(stream, 'data')
  const ms = performance.now() - startedAt
  await finished(stream)
  return Math.round(ms)
}

/** Cancels while the prompt is read. */
const cancelled = async (): Promise<number> => {
  const busy = (): number | undefined => service.reports()[0]?.slots_busy
  const stream = ask(`! ${LONG_PROMPT}`)
  while (busy() === 0) await new Promise(setImmediate)
  const startedAt = performance.now()
  stream.close(http2.constants.NGHTTP2_CANCEL)
  while (busy() !== 0) await new Promise(setImmediate)
  return Math.round(performance.now() - startedAt)
}

await throughput(1)
for (const streams of [1, 2, 4, 8, 16]) console.log(JSON.stringify(await throughput(streams)))
console.log(JSON.stringify({ first_token_ms: await firstToken(LONG_PROMPT) }))
console.log(JSON.stringify({ first_token_cached_ms: await firstToken(LONG_PROMPT) }))
console.log(JSON.stringify({ cancel_to_free_slot_ms: await cancelled() }))
session.close()
stop.abort()
rmSync(folder, { recursive: true })
