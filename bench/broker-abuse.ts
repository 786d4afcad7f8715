/**
 * Measures what honest cells notice while others misuse the broker with good credentials: one
 * never reads, one floods, one sends packets of 200 MB, one never finishes connecting.
 *
 *   npm run bench -- broker-abuse [--honest 50] [--rogues 5] [--seconds 15]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ABUSES, type Abuse, type RogueOptions } from './broker-abuse/abuse.ts'
import { type CellLogin, SimulatedCell } from './fleet/simulated-cell.ts'
import { coordinatorSide, enrolCells, type Side } from './fleet/targets.ts'
import { cpuMs, percentile, type ReportRow, report, round, rssMiB } from './measure.ts'

const CHANGE_EVERY_MS = 250

const pause = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds))

/** Well-behaved cells and their measurements. */
const startHonest = async (logins: CellLogin[], side: Side) => {
  const tookMs: number[] = []
  let closed = 0
  let ready = 0
  const cells = logins.map(
    login =>
      new SimulatedCell(login, side.target, {
        ready: () => ready++,
        onAcknowledged: milliseconds => tookMs.push(milliseconds),
        onClosed: () => closed++,
      }),
  )
  for (const cell of cells) cell.open()
  while (ready < cells.length) await pause(50)
  const timer = setInterval(() => {
    for (const cell of cells) cell.changeState()
    for (const cell of cells) cell.sendSample()
  }, CHANGE_EVERY_MS)
  const stop = (): void => {
    clearInterval(timer)
    for (const cell of cells) cell.destroy()
  }
  const take = () => ({ tookMs: tookMs.splice(0), closed })
  return { take, stop }
}

const startRogues = (abuse: Abuse, options: Omit<RogueOptions, 'abuse'>) => {
  const child = fork(join(import.meta.dirname, 'broker-abuse', 'rogue.ts'), [
    JSON.stringify({ ...options, abuse } satisfies RogueOptions),
  ])
  return async (): Promise<void> => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

const measure = async (
  phase: string,
  side: Side,
  honest: Awaited<ReturnType<typeof startHonest>>,
  seconds: number,
): Promise<ReportRow> => {
  honest.take()
  side.loopDelayMs.length = 0
  const [rssBefore, cpuBefore] = [rssMiB(side.pid()), cpuMs(side.pid())]
  let rss = rssBefore
  for (let second = 0; second < seconds; second++) {
    await pause(1000)
    rss = Math.max(rss, rssMiB(side.pid()))
  }
  const { tookMs, closed } = honest.take()
  return {
    phase,
    'honest acks': tookMs.length,
    'p50 ms': round(percentile(tookMs, 50)),
    'p99 ms': round(percentile(tookMs, 99)),
    'honest cut off': closed,
    'loop delay max ms': round(Math.max(...side.loopDelayMs)),
    'RSS growth MiB': rss - rssBefore,
    'CPU %': round((cpuMs(side.pid()) - cpuBefore) / seconds / 10),
  }
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      honest: { type: 'string', default: '50' },
      rogues: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '15' },
    },
  })
  const [honestCount, rogueCount] = [Number(values.honest), Number(values.rogues)]
  const seconds = Number(values.seconds)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-abuse-'))
  const stateDir = join(folder, 'coordinator')
  const loginsFile = join(folder, 'logins.json')
  const logins = await enrolCells(stateDir, honestCount + rogueCount)
  writeFileSync(loginsFile, JSON.stringify(logins))
  const side = await coordinatorSide(stateDir)
  const honest = await startHonest(logins.slice(rogueCount), side)
  await pause(3000)
  const rows = [await measure('quiet', side, honest, seconds)]
  for (const abuse of ABUSES) {
    const options = { target: side.target, loginsFile, from: 0, to: rogueCount }
    const stop = startRogues(abuse, options)
    rows.push(await measure(abuse, side, honest, seconds))
    await stop()
  }
  honest.stop()
  await side.stop()
  rmSync(folder, { recursive: true })
  report('broker-abuse', { honest: honestCount, rogues: rogueCount, seconds }, rows)
}
