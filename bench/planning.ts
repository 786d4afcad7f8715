import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Simulations } from '../coordinator/insight/planning/simulations.ts'
import { Budgets } from '../coordinator/kernel/budgets/budgets.ts'
import { appWith, config, views } from '../test/support/app.ts'
import { randomOf } from '../test/support/random.ts'
import { type ReportRow, report, round } from './measure.ts'

/**
 * A call of `gantt_schedule` with a simulation, and the delay that other requests of the process
 * meet meanwhile.
 * The rows `idle` have the delay of this machine without a call.
 *
 *   npm run bench -- planning [--tasks 1000] [--runs 10000] [--rounds 5]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = {
    tasks: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
  } as const
  const given = parseArgs({ args: argv, options }).values
  const settings = {
    tasks: Number(given.tasks),
    runs: Number(given.runs),
    rounds: Number(given.rounds),
  }
  const { simulations: budget } = new Budgets(config().limits)
  const app = await appWith({ views: views({ simulations: new Simulations(budget) }) })
  const tasks = createTasks(settings.tasks)
  const prepare = (count: number, more: object) => {
    const runs = { runs: settings.runs, ...more }
    const payload = JSON.stringify({ ...{ tasks: tasks.slice(0, count), ...runs }, ...DATED })
    return async (): Promise<void> => {
      const headers = {
        authorization: 'Bearer enterprise-key',
        'content-type': 'application/json',
      }
      const url = '/v1/skills/gantt_schedule'
      const { statusCode, body } = await app.inject({ method: 'POST', url, headers, payload })
      if (statusCode !== 200) throw new Error(body)
    }
  }
  // the server has answered before, but no large project
  await prepare(3, {})()
  const simulate = prepare(settings.tasks, {})
  const draw = prepare(settings.tasks, { runs: 0, as: 'svg' })
  const rows: ReportRow[] = []
  for (let at = 1; at <= settings.rounds; at++) {
    rows.push(await measure(`simulation ${at}`, simulate))
    rows.push(await measure(`idle ${at}`, () => new Promise(done => setTimeout(done, 1000))))
  }
  rows.push(await measure('chart', draw))
  rows.push(await measure('chart again', draw))
  await app.close()
  report('planning', settings, rows)
}

const DATED = { start_date: '2027-01-04' }
const TYPES = ['FS', 'FS', 'FS', 'SS', 'FF', 'SF']

/** Tasks with ranges, each with about three links to earlier ones, of all types. */
const createTasks = (count: number): object[] => {
  const { randomBelow, pick } = randomOf(1)
  return Array.from({ length: count }, (_, at) => {
    const before = new Set([1, 10, 40].map(span => at - 1 - randomBelow(span)))
    const optimistic = 1 + randomBelow(8)
    const likely = optimistic + randomBelow(5)
    return {
      id: `task-${at}`,
      optimistic_days: optimistic,
      duration_days: likely,
      pessimistic_days: likely + randomBelow(15),
      depends_on: [...before]
        .filter(each => each >= 0)
        .map(each => ({ id: `task-${each}`, type: pick(TYPES), lag_days: randomBelow(5) - 2 })),
    }
  })
}

/**
 * Wall time, CPU time of all threads, the longest delay of a timer of one millisecond, and the most
 * CPU time that the thread of the event loop spent between two of its ticks. The delay includes the
 * waits for a core of a busy machine, the CPU time does not.
 */
const measure = async (name: string, run: () => Promise<unknown>): Promise<ReportRow> => {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  let longestCpuMs = 0
  let spentMs = threadCpuMs()
  const tick = (): void => {
    const nowMs = threadCpuMs()
    longestCpuMs = Math.max(longestCpuMs, nowMs - spentMs)
    spentMs = nowMs
  }
  const ticks = setInterval(tick, 1)
  loop.enable()
  const [before, startMs] = [process.cpuUsage(), performance.now()]
  await run()
  const wall_ms = Math.round(performance.now() - startMs)
  const { user, system } = process.cpuUsage(before)
  loop.disable()
  clearInterval(ticks)
  tick()
  return {
    name,
    wall_ms,
    cpu_ms: Math.round((user + system) / 1000),
    longest_delay_ms: round(loop.max / 1e6),
    longest_loop_cpu_ms: round(longestCpuMs),
  }
}

const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
