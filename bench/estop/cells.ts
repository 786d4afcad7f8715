import { readFileSync } from 'node:fs'
import type { BrokerTarget, CellLogin } from '../fleet/simulated-cell.ts'
import { BusyCell, type StopTimes } from './busy-cell.ts'
import { Turns } from './turns.ts'

/** Options of a process of busy cells, as JSON in its only argument. */
export interface BusyCellsOptions {
  target: BrokerTarget
  loginsFile: string
  /** Part of the logins that is ours. */
  from: number
  to: number
  lanes: number
  sampleEveryMs: number
}

/** Question of the bench: how many cells are ready, what became of a stop, or fill the lanes again. */
export type BusyQuestion = { ready: true } | { estopId: string } | { fill: true } | { stop: true }

export interface BusyAnswer {
  ready: number
  times: StopTimes[]
}

const TICK_MS = 20
const CONNECTS_PER_TICK = 10

const run = async ({ target, loginsFile, lanes, ...options }: BusyCellsOptions): Promise<void> => {
  const all = JSON.parse(readFileSync(loginsFile, 'utf8')) as CellLogin[]
  const logins = all.slice(options.from, options.to)
  const turns = new Turns()
  const cells = logins.map(login => new BusyCell(login, target, lanes, turns))
  await Promise.all(cells.map((cell, at) => cell.start(logins[at] as CellLogin)))
  let opened = 0
  const startedAt = performance.now()
  let sampled = 0
  const timer = setInterval(() => {
    const next = Math.min(cells.length, opened + CONNECTS_PER_TICK)
    for (; opened < next; opened++) cells[opened]?.cell.open()
    const due = ((performance.now() - startedAt) / options.sampleEveryMs) * cells.length
    for (; sampled < due; sampled++) cells[sampled % cells.length]?.cell.sendSample()
  }, TICK_MS)
  process.on('message', (question: BusyQuestion) => {
    if ('stop' in question) {
      clearInterval(timer)
      for (const { cell } of cells) cell.destroy()
      process.exit()
    }
    if ('fill' in question) for (const cell of cells) cell.fillLanes()
    const id = 'estopId' in question ? question.estopId : ''
    const times = cells.flatMap(({ stopped }) => stopped.get(id) ?? [])
    const ready = cells.filter(({ cell }) => cell.ready).length
    process.send?.({ ready, times } satisfies BusyAnswer)
  })
  process.once('disconnect', () => process.exit())
}

await run(JSON.parse(process.argv[2] ?? '{}') as BusyCellsOptions)
