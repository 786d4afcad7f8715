/**
 * Measures what one call of a skill that does nothing costs on each surface, beside a plain
 * `/healthz`, and one page of `tools/list`: wall time of one call after the other, and CPU of the
 * server, which is a process of its own. Half as many calls come first and are not counted: in its
 * first thousand calls a server costs twice as much, because its code is compiled meanwhile.
 *
 *   npm run bench -- surfaces [--calls 2000]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { cpuMs, percentile, type ReportRow, report } from './measure.ts'

interface Case {
  what: string
  method?: 'GET' | 'POST'
  path: string
  body?: (n: number) => object
  headers?: Record<string, string>
  promised?: string
}

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const MCP = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}

const CASES: Case[] = [
  { what: '/healthz', method: 'GET', path: '/healthz' },
  { what: 'REST', path: '/v1/skills/null-skill', body: () => ({}) },
  {
    what: 'A2A JSON-RPC, a stored task',
    path: '/a2a',
    body: n =>
      rpc('SendMessage', {
        message: {
          messageId: `bench-${n}`,
          role: 'ROLE_USER',
          parts: [{ data: { skill: 'null-skill', input: {} } }],
        },
      }),
  },
  {
    what: 'MCP tools/call',
    path: '/mcp/',
    headers: MCP,
    body: () => rpc('tools/call', { name: 'null-skill', arguments: {} }),
  },
  {
    what: 'MCP tools/list, a page',
    path: '/mcp/',
    headers: MCP,
    body: () => rpc('tools/list', {}),
    promised: '10 ms',
  },
]

export const main = async (argv: string[]): Promise<void> => {
  const options = { calls: { type: 'string', default: '2000' } } as const
  const calls = Number(parseArgs({ args: argv, options }).values.calls)
  const { child, url, keys } = await startServer(Math.ceil(calls / 25))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const ask = asker(url, keys, agent)
    const rows: ReportRow[] = []
    for (const each of CASES) rows.push(await measureCalls(each, calls, ask, child.pid ?? 0))
    report('surfaces', { calls }, rows)
  } finally {
    agent.destroy()
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}

type Ask = (asked: Case, n: number) => Promise<void>

const measureCalls = async (
  asked: Case,
  calls: number,
  ask: Ask,
  pid: number,
): Promise<ReportRow> => {
  for (let n = 0; n < calls / 2; n++) await ask(asked, -n - 1)
  const times: number[] = []
  const before = cpuMs(pid)
  for (let n = 0; n < calls; n++) {
    const begun = performance.now()
    await ask(asked, n)
    times.push(performance.now() - begun)
  }
  const roundMs = (value: number): number => Math.round(value * 1000) / 1000
  return {
    what: asked.what,
    'CPU ms per call': roundMs((cpuMs(pid) - before) / calls),
    'median ms': roundMs(percentile(times, 50)),
    '99 % ms': roundMs(percentile(times, 99)),
    promised: asked.promised ?? '',
  }
}

/** Throws for anything but 200: a refusal is quick. */
const asker =
  (url: string, keys: readonly string[], agent: Agent, asked = { count: 0 }): Ask =>
  async ({ what, method = 'POST', path, body, headers = {} }, n) => {
    // The calls take turns with the keys, because each key is limited per minute
    const key = keys[asked.count++ % keys.length]
    const sent = request(new URL(path, url), {
      agent,
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body(n)))
    const [response] = await once(sent, 'response')
    const text = Buffer.concat(await response.toArray()).toString()
    if (response.statusCode !== 200 || /"error"|"isError":true/.test(text.slice(0, 300)))
      throw new Error(`${what} answered ${response.statusCode}: ${text.slice(0, 300)}`)
  }

const startServer = async (
  keys: number,
): Promise<{ child: ChildProcess; url: string; keys: string[] }> => {
  const script = join(import.meta.dirname, 'surfaces', 'server.ts')
  const child = spawn(process.execPath, [script, String(keys)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, ...JSON.parse(line) }
}
