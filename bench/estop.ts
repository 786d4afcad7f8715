/**
 * Measures an e-stop of a whole fleet: from the call of the API to the latch of each cell, and to the
 * acknowledgement of its signed report. The coordinator is a process of its own with its store on the
 * disk. The cells have the e-stop of the daemon, a running verb in every lane, and telemetry. Their
 * work is done one after another, as if each had a machine of its own; see `estop/turns.ts`.
 *
 *   npm run bench -- estop [--cells 1000] [--lanes 64] [--rounds 5] [--processes 2] [--profile DIR]
 *
 * Then the same on one daemon, whose journal and latch are on the disk.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../coordinator/access/keys/bootstrap.ts'
import { openStore } from '../coordinator/kernel/store/store.ts'
import { readClock } from './estop/busy-cell.ts'
import { measureDaemon } from './estop/busy-daemon.ts'
import type { BusyAnswer, BusyCellsOptions, BusyQuestion } from './estop/cells.ts'
import { coordinatorSide, enrolCells, type Side } from './fleet/targets.ts'
import { cpuMs, percentile, type ReportRow, report, round } from './measure.ts'

const SAMPLE_EVERY_MS = 5000
const TRIES = 300

const pause = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds))

const ask = async (child: ChildProcess, question: BusyQuestion): Promise<BusyAnswer> => {
  const answer = once(child, 'message')
  child.send(question)
  return (await answer)[0] as BusyAnswer
}

const askAll = async (
  children: readonly ChildProcess[],
  question: BusyQuestion,
): Promise<BusyAnswer> => {
  const answers = await Promise.all(children.map(child => ask(child, question)))
  const ready = answers.reduce((sum, one) => sum + one.ready, 0)
  return { ready, times: answers.flatMap(({ times }) => times) }
}

/** Asks until the answer is right; throws when it does not become so. */
const askUntil = async (
  children: readonly ChildProcess[],
  question: BusyQuestion,
  isRight: (answer: BusyAnswer) => boolean,
): Promise<BusyAnswer> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await askAll(children, question)
    if (isRight(answer)) return answer
    await pause(100)
  }
  const { ready, times } = await askAll(children, question)
  throw new Error(`${JSON.stringify(question)}: only ${ready} ready and ${times.length} stopped`)
}

interface Operator {
  side: Side
  key: string
}

const post = async ({ side, key }: Operator, path: string, body: object) => {
  const answer = await fetch(`http://${side.target.host}:${side.target.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { estop_id: string; cells: { confirmed: number } }
}

const describe = (what: string, ms: readonly number[]): ReportRow => ({
  what,
  stops: ms.length,
  'p50 ms': round(percentile(ms, 50)),
  'p99 ms': round(percentile(ms, 99)),
  'max ms': round(Math.max(...ms)),
})

/** CPU time that each process uses without a stop, per millisecond. */
const measureIdle = async (pids: readonly number[]): Promise<number[]> => {
  const [before, startedAt] = [pids.map(cpuMs), readClock()]
  await pause(SAMPLE_EVERY_MS)
  const tookMs = readClock() - startedAt
  return pids.map((pid, i) => (cpuMs(pid) - (before[i] ?? 0)) / tookMs)
}

/** Engages and releases a stop of everything, again and again. */
const measureFleet = async (
  operator: Operator,
  children: readonly ChildProcess[],
  cells: number,
  rounds: number,
): Promise<ReportRow[]> => {
  const [received, latched, confirmed]: number[][] = [[], [], []]
  const cpu: number[][] = []
  const pids = [operator.side.pid(), ...children.map(({ pid = 0 }) => pid)]
  const idle = await measureIdle(pids)
  for (let at = 0; at < rounds; at++) {
    const cpuBefore = pids.map(cpuMs)
    const startedAt = readClock()
    const stop = await post(operator, '/v1/estop', { all: true, reason: 'bench' })
    const question = { estopId: stop.estop_id }
    const { times } = await askUntil(children, question, one => one.times.length === cells)
    received?.push(...times.map(one => one.receivedAt - startedAt))
    latched?.push(...times.map(one => one.latchedAt - startedAt))
    confirmed?.push(...times.map(one => one.confirmedAt - startedAt))
    const tookMs = readClock() - startedAt
    cpu.push(pids.map((pid, i) => cpuMs(pid) - (cpuBefore[i] ?? 0) - (idle[i] ?? 0) * tookMs))
    await post(operator, '/v1/estop/release', { estop_id: stop.estop_id, reason: 'bench' })
    await pause(3000)
    await askAll(children, { fill: true })
  }
  const coordinatorCpu = percentile(
    cpu.map(([first = 0]) => first),
    50,
  )
  const cellsCpu = percentile(
    cpu.map(([, ...others]) => others.reduce((sum, one) => sum + one, 0)),
    50,
  )
  const cost = { 'CPU ms coordinator': round(coordinatorCpu), 'CPU ms cells': round(cellsCpu) }
  return [
    describe('all documents handed to the sockets', operator.side.estopSentMs),
    { ...describe('document arrived at the cell', received ?? []), ...cost },
    describe('latched on the cell', latched ?? []),
    describe('report acknowledged', confirmed ?? []),
  ]
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      cells: { type: 'string', default: '1000' },
      lanes: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '5' },
      processes: { type: 'string', default: '2' },
      profile: { type: 'string' },
    },
  })
  const [cells, lanes, rounds, processes] = [
    Number(values.cells),
    Number(values.lanes),
    Number(values.rounds),
    Number(values.processes),
  ]
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-estop-'))
  const stateDir = join(folder, 'coordinator')
  const loginsFile = join(folder, 'logins.json')
  writeFileSync(loginsFile, JSON.stringify(await enrolCells(stateDir, cells)))
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  await store.close()
  const side = await coordinatorSide(stateDir, [], values.profile)
  const each = Math.ceil(cells / processes)
  const children = Array.from({ length: processes }, (_, at) => {
    const part = { from: at * each, to: (at + 1) * each, lanes, sampleEveryMs: SAMPLE_EVERY_MS }
    const options: BusyCellsOptions = { ...part, loginsFile, target: side.target }
    return fork(join(import.meta.dirname, 'estop', 'cells.ts'), [JSON.stringify(options)])
  })
  const measure = async (): Promise<ReportRow[]> => {
    await askUntil(children, { ready: true }, ({ ready }) => ready >= cells)
    return measureFleet({ side, key: keys.operator }, children, cells, rounds)
  }
  const rows = await measure().finally(async () => {
    for (const child of children) child.disconnect()
    await side.stop()
  })

  mkdirSync(join(folder, 'cell'))
  const times = await measureDaemon(join(folder, 'cell'), lanes, rounds * 4)
  report('estop', values, [
    ...rows,
    describe(
      'one daemon: stops sent, verbs aborted',
      times.map(({ stoppedMs }) => stoppedMs),
    ),
    describe(
      'one daemon: latch on the disk',
      times.map(({ latchedMs }) => latchedMs),
    ),
    describe(
      'one daemon: commands acknowledged',
      times.map(({ acknowledgedMs }) => acknowledgedMs),
    ),
  ])
  rmSync(folder, { recursive: true, force: true })
}
