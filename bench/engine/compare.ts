import { Agent, request } from 'node:http'
import { cpuMs, percentile, type ReportRow, round } from '../measure.ts'
import type { EngineServer } from './server.ts'

const ANSWER_TOKENS = 96
const LONG_PROMPT = 'lorem ipsum '.repeat(140)
const ROUNDS = 3

interface Answered {
  tokens: number
  firstTokenMs: number
}

/** A connection for each request: a server may close an idle one just when it is used again. */
const agent = new Agent({ keepAlive: false })

/** One streamed chat completion, greedy. `cut` ends it after the first piece. */
const ask = (
  { url }: EngineServer,
  content: string,
  { maxTokens = ANSWER_TOKENS, cut = false } = {},
): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let firstTokenMs = Number.NaN
    let text = ''
    const sent = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    sent.on('error', error => (cut ? resolve({ tokens: 0, firstTokenMs }) : reject(error)))
    sent.on('response', response => {
      response.on('data', (piece: Buffer) => {
        if (Number.isNaN(firstTokenMs) && piece.includes('"content":"'))
          firstTokenMs = performance.now() - startedAt
        if (cut && !Number.isNaN(firstTokenMs)) sent.destroy()
        text = (text + piece.toString('latin1')).slice(-4000)
      })
      response.on('error', () => {})
      response.on('close', () => {
        const tokens = Number(/"completion_tokens":(\d+)/.exec(text)?.[1] ?? Number.NaN)
        if (cut) resolve({ tokens: 0, firstTokenMs })
        else if (Number.isNaN(tokens)) reject(new Error(`no usage from ${url}: ${text}`))
        else resolve({ tokens, firstTokenMs })
      })
    })
    const messages = [{ role: 'user', content }]
    const stream = { stream: true, stream_options: { include_usage: true } }
    sent.end(
      JSON.stringify({ model: 'm', messages, temperature: 0, max_tokens: maxTokens, ...stream }),
    )
  })

interface Speed {
  tokensPerSecond: number
  cpuMsPerToken: number
}

const throughput = async (server: EngineServer, streams: number, salt: string): Promise<Speed> => {
  const pids = server.pids()
  const cpu = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)
  const before = { at: performance.now(), cpu: cpu() }
  const asked = Array.from({ length: streams }, (_, n) => ask(server, `${salt} question ${n}`))
  const tokens = (await Promise.all(asked)).reduce((sum, answer) => sum + answer.tokens, 0)
  const seconds = (performance.now() - before.at) / 1000
  return { tokensPerSecond: tokens / seconds, cpuMsPerToken: (cpu() - before.cpu) / tokens }
}

/** Fills all slots and frees every second one, so that the next requests find gaps. */
const churn = async (server: EngineServer, slots: number): Promise<void> => {
  const asked = Array.from({ length: slots }, (_, n) =>
    ask(server, `churn ${n}`, { cut: n % 2 === 1, maxTokens: n % 2 === 1 ? ANSWER_TOKENS : 4 }),
  )
  await Promise.all(asked)
}

/**
 * Runs both sides alternately, so that they share their neighbours, and keeps each side's best
 * round, as noise only slows.
 */
const measureInTurn = async (
  servers: readonly EngineServer[],
  measure: (server: EngineServer, round: number) => Promise<Speed>,
): Promise<Speed[]> => {
  const found: Speed[][] = servers.map(() => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [n, server] of servers.entries()) found[n]?.push(await measure(server, round))
  return found.map(speeds => ({
    tokensPerSecond: Math.max(...speeds.map(speed => speed.tokensPerSecond)),
    cpuMsPerToken: Math.min(...speeds.map(speed => speed.cpuMsPerToken)),
  }))
}

const speedRow = (what: string, [ours, theirs]: Speed[]): ReportRow => ({
  what,
  shoal_tokens_per_second: Math.round(ours?.tokensPerSecond ?? 0),
  llama_server_tokens_per_second: Math.round(theirs?.tokensPerSecond ?? 0),
  ratio: ratio(ours?.tokensPerSecond, theirs?.tokensPerSecond),
  shoal_cpu_ms_per_token: round(ours?.cpuMsPerToken ?? 0),
  llama_server_cpu_ms_per_token: round(theirs?.cpuMsPerToken ?? 0),
})

const ratio = (a = Number.NaN, b = Number.NaN): number => Math.round((100 * a) / b) / 100

const firstToken = async (server: EngineServer, content: string): Promise<number> =>
  (await ask(server, content, { maxTokens: 2 })).firstTokenMs

const firstTokenRow = async (
  what: string,
  servers: readonly EngineServer[],
  contentOf: (round: number) => string,
): Promise<ReportRow> => {
  const found: number[][] = servers.map(() => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [n, server] of servers.entries())
      found[n]?.push(await firstToken(server, contentOf(round)))
  const [ours = Number.NaN, theirs = Number.NaN] = found.map(values => percentile(values, 0))
  return {
    what,
    shoal_ms: round(ours),
    llama_server_ms: round(theirs),
    ratio: ratio(ours, theirs),
  }
}

/** Two engine servers with the same weights, side by side. */
export const compare = async (
  servers: readonly EngineServer[],
  slots: number,
): Promise<{ speeds: ReportRow[]; latencies: ReportRow[] }> => {
  for (const server of servers) await throughput(server, 1, 'warm')
  const speeds: ReportRow[] = []
  for (const streams of [1, 4, 8, 16].filter(count => count <= slots))
    speeds.push(
      speedRow(
        `${streams} streams`,
        await measureInTurn(servers, (server, round) =>
          throughput(server, streams, `${streams}-${round}`),
        ),
      ),
    )
  speeds.push(
    speedRow(
      '8 streams after slot churn',
      await measureInTurn(servers, async (server, round) => {
        await churn(server, slots)
        return throughput(server, 8, `churned-${round}`)
      }),
    ),
  )
  const latencies = [
    await firstTokenRow('first token of a new long prompt', servers, n => `${n} ${LONG_PROMPT}`),
    await firstTokenRow('first token of the same again', servers, () => `0 ${LONG_PROMPT}`),
  ]
  agent.destroy()
  return { speeds, latencies }
}
