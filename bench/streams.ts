import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway } from './gateway/start.ts'
import { cpuMs, type ReportRow, report, round, rssMiB } from './measure.ts'

/**
 * Memory of the coordinator for each stream that is open, and what many of them cost while little
 * is said on them (a chunk every 10 s).
 *
 *   npm run bench -- streams [--streams 1000,10000] [--seconds 20]
 */
export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      streams: { type: 'string', default: '1000,10000' },
      seconds: { type: 'string', default: '20' },
    },
  })
  const rows: ReportRow[] = []
  for (const streams of values.streams.split(','))
    rows.push(await measure(Number(streams), Number(values.seconds)))
  report('streams', values, rows)
  console.log('kib_each: growth of the resident memory, warm coordinator, over the open streams.')
}

/** Streams before it, so that what is needed once is not counted. */
const WARM_UP = 200

const measure = async (streams: number, seconds: number): Promise<ReportRow> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const children: ChildProcess[] = []
  try {
    const { url, key, coordinator } = await startGateway(folder, children)
    const pid = coordinator.pid as number
    const warm = await openStreams(url, key, WARM_UP, children)
    warm.stdin?.end()
    await once(warm, 'exit')
    await pause(2000)
    const before = rssMiB(pid)
    await openStreams(url, key, streams, children)
    await pause(2000)
    const cpuBefore = cpuMs(pid)
    await pause(seconds * 1000)
    const after = rssMiB(pid)
    return {
      streams,
      rss_mib_before: before,
      rss_mib: after,
      kib_each: round(((after - before) * 1024) / streams),
      cpu_percent: round((cpuMs(pid) - cpuBefore) / seconds / 10),
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

const openStreams = async (
  url: string,
  key: string,
  count: number,
  children: ChildProcess[],
): Promise<ChildProcess> => {
  const script = join(import.meta.dirname, 'gateway', 'open-streams.ts')
  const child = spawn(process.execPath, [script, url, key, String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the clients ended with ${code}`)
  })
  await Promise.race([once(child.stdout, 'data'), ended])
  ended.catch(() => {})
  return child
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise(done => setTimeout(done, milliseconds))
