/**
 * Measures the control plane with many simulated cells: telemetry every five seconds, and changes
 * of state that must not get lost, over the real protocol with real credentials.
 *
 *   npm run bench -- fleet [--cells 1000] [--minutes 0.5] [--generators 2] [--sides coordinator,mosquitto]
 *
 * The third side, `external`, is the coordinator with a mosquitto behind it.
 *
 * A change of state counts as acknowledged when its PUBACK came, and as arrived when the
 * coordinator's registry says so in its log (for mosquitto: when a subscriber got it). The
 * coordinator is then killed and started again, and the cells come back as daemons do; not with
 * `--profile DIR`, which writes a CPU profile of the coordinator when it ends.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { GeneratorOptions, Stats } from './fleet/generator.ts'
import {
  coordinatorSide,
  enrolCells,
  externalSide,
  mosquittoSide,
  type Side,
} from './fleet/targets.ts'
import { cpuMs, percentile, type ReportRow, report, round, rssMiB } from './measure.ts'

interface Settings {
  cells: number
  minutes: number
  generators: number
  sides: string[]
  profile: string | undefined
}

const SAMPLE_EVERY_MS = 5000
const CHANGE_EVERY_MS = 30_000
const CONNECTS_PER_SECOND = 1000
const WARM_UP_MS = 3000
/** Longest time until an acknowledged change shows up in a log. */
const SETTLE_MS = 3000

const SIDES: Record<string, (stateDir: string, settings: Settings) => Promise<Side>> = {
  coordinator: (stateDir, { profile }) => coordinatorSide(stateDir, [], profile),
  mosquitto: () => mosquittoSide(),
  external: stateDir => externalSide(stateDir),
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds))

/** The processes that simulate cells, seen as one. */
const startGenerators = (
  options: Omit<GeneratorOptions, 'from' | 'to'>,
  cells: number,
  count: number,
) => {
  const each = Math.ceil(cells / count)
  const children = Array.from({ length: count }, (_, i) => {
    const part: GeneratorOptions = { ...options, from: i * each, to: (i + 1) * each }
    return fork(join(import.meta.dirname, 'fleet', 'generator.ts'), [JSON.stringify(part)])
  })
  const stats = async (): Promise<Stats> => {
    const answers = children.map(async child => {
      const answer = once(child, 'message')
      child.send('stats')
      return (await answer)[0] as Stats
    })
    return (await Promise.all(answers)).reduce(addStats)
  }
  const waitUntilReady = async (): Promise<Stats> => {
    for (;;) {
      const now = await stats()
      if (now.ready === cells) return now
      await pause(100)
    }
  }
  const stop = async (): Promise<void> => {
    await Promise.all(
      children.map(child => {
        child.send('stop')
        return once(child, 'exit')
      }),
    )
  }
  const forget = (): void => {
    for (const child of children) child.send('forget')
  }
  return { stats, untilReady: waitUntilReady, stop, forget }
}

const addStats = (a: Stats, b: Stats): Stats => ({
  ready: a.ready + b.ready,
  acknowledgedChanges: { ...a.acknowledgedChanges, ...b.acknowledgedChanges },
  acknowledgedAfterMs: [...a.acknowledgedAfterMs, ...b.acknowledgedAfterMs],
  samples: a.samples + b.samples,
  closed: a.closed + b.closed,
  readyAt: Math.max(a.readyAt, b.readyAt),
  busiestSecond: a.busiestSecond + b.busiestSecond,
})

/** Requests the health page as a client would; its duration shows how busy the event loop is. */
const watchHealth = (side: Side): (() => number[]) => {
  if (side.target.kind === 'broker') return () => []
  const tookMs: number[] = []
  const timer = setInterval(async () => {
    const askedAt = performance.now()
    await fetch(`http://${side.target.host}:${side.target.port}/healthz`).catch(() => {})
    tookMs.push(performance.now() - askedAt)
  }, 100)
  return () => {
    clearInterval(timer)
    return tookMs
  }
}

const measure = async (side: Side, loginsFile: string, settings: Settings): Promise<ReportRow> => {
  const startedAt = Date.now()
  const generators = startGenerators(
    {
      target: side.target,
      loginsFile,
      sampleEveryMs: SAMPLE_EVERY_MS,
      changeEveryMs: CHANGE_EVERY_MS,
      connectsPerSecond: CONNECTS_PER_SECOND / settings.generators,
    },
    settings.cells,
    settings.generators,
  )
  const { readyAt } = await generators.untilReady()
  await pause(WARM_UP_MS)

  const before = await generators.stats()
  side.arrivedAfterMs.length = 0
  side.loopDelayMs.length = 0
  const health = watchHealth(side)
  const [cpuBefore, beganAt] = [cpuMs(side.pid()), performance.now()]
  let rss = 0
  while (performance.now() - beganAt < settings.minutes * 60_000) {
    await pause(1000)
    rss = Math.max(rss, rssMiB(side.pid()))
  }
  const seconds = (performance.now() - beganAt) / 1000
  const cpu = (cpuMs(side.pid()) - cpuBefore) / seconds / 10
  const after = await generators.stats()
  const healthMs = health()
  await pause(SETTLE_MS)

  const row: ReportRow = {
    side: side.name,
    cells: settings.cells,
    'all ready after s': round((readyAt - startedAt) / 1000),
    'samples/s': Math.round((after.samples - before.samples) / seconds),
    'CPU %': round(cpu),
    'RSS MiB': rss,
    'ack p50 ms': round(percentile(after.acknowledgedAfterMs, 50)),
    'ack p99 ms': round(percentile(after.acknowledgedAfterMs, 99)),
    'arrival p50 ms': round(percentile(side.arrivedAfterMs, 50)),
    'arrival p99 ms': round(percentile(side.arrivedAfterMs, 99)),
    'healthz p99 ms': round(percentile(healthMs, 99)),
    'loop delay max ms': round(Math.max(...side.loopDelayMs)),
    acknowledged: Object.values(after.acknowledgedChanges).reduce((sum, n) => sum + n, 0),
    'acknowledged, lost': countLostChanges(after, side),
    'cut off': after.closed,
    'taken for gone': side.countLost(),
  }
  if (side.restart && settings.profile === undefined)
    Object.assign(row, await measureReturn(side, generators))
  await generators.stop()
  return row
}

/** Changes that a cell got acknowledged and that did not arrive. */
const countLostChanges = ({ acknowledgedChanges }: Stats, { arrived }: Side): number =>
  Object.entries(acknowledgedChanges).reduce(
    (lost, [cell, count]) => lost + Math.max(0, count - (arrived.get(cell) ?? 0)),
    0,
  )

const measureReturn = async (
  side: Side,
  generators: ReturnType<typeof startGenerators>,
): Promise<ReportRow> => {
  generators.forget()
  const killedAt = Date.now()
  await side.restart?.()
  const servingAt = Date.now()
  const { readyAt, busiestSecond } = await generators.untilReady()
  return {
    'serving again after s': round((servingAt - killedAt) / 1000),
    'all back after s': round((readyAt - killedAt) / 1000),
    'most tries in 1 s': busiestSecond,
  }
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      cells: { type: 'string', default: '1000' },
      minutes: { type: 'string', default: '0.5' },
      generators: { type: 'string', default: '2' },
      sides: { type: 'string', default: 'coordinator,mosquitto' },
      profile: { type: 'string' },
    },
  })
  const settings: Settings = {
    cells: Number(values.cells),
    minutes: Number(values.minutes),
    generators: Number(values.generators),
    sides: values.sides.split(','),
    profile: values.profile,
  }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-fleet-'))
  const stateDir = join(folder, 'coordinator')
  const loginsFile = join(folder, 'logins.json')
  writeFileSync(loginsFile, JSON.stringify(await enrolCells(stateDir, settings.cells)))
  const rows: ReportRow[] = []
  for (const name of settings.sides) {
    const start = SIDES[name]
    if (start === undefined) throw new Error(`there is no side ${name}`)
    const side = await start(stateDir, settings)
    rows.push(await measure(side, loginsFile, settings))
    await side.stop()
  }
  rmSync(folder, { recursive: true })
  report('fleet', settings, transposeRows(rows))
}

/** One line for each figure, one column for each side. */
const transposeRows = (rows: ReportRow[]): ReportRow[] => {
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(name => name !== 'side')
  return names.map(name => ({
    figure: name,
    ...Object.fromEntries(rows.map(row => [row.side, formatValue(row[name])])),
  }))
}

/** Value for the table; a side may not report every measurement. */
const formatValue = (value: string | number | undefined): string | number =>
  typeof value === 'number' && !Number.isFinite(value) ? '-' : (value ?? '-')
