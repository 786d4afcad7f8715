import { readFileSync } from 'node:fs'
import { reconnectMs } from '../../daemon/backoff.ts'
import { type BrokerTarget, type CellLogin, SimulatedCell } from './simulated-cell.ts'

/** Options of a generator process, passed as JSON in its only argument. */
export interface GeneratorOptions {
  target: BrokerTarget
  /** JSON file of `CellLogin[]`, and the part of it that is ours. */
  loginsFile: string
  from: number
  to: number
  sampleEveryMs: number
  /** Interval between state changes of a cell, sent with quality of service 1. */
  changeEveryMs: number
  connectsPerSecond: number
}

/** Answer to the message `stats`. */
export interface Stats {
  ready: number
  acknowledgedChanges: Record<string, number>
  /** Milliseconds from a change of state to its acknowledgement, since the last answer. */
  acknowledgedAfterMs: number[]
  samples: number
  closed: number
  /** Time when the last cell became ready, in Unix milliseconds. */
  readyAt: number
  /** The most connections that were tried within one second. */
  busiestSecond: number
}

const TICK_MS = 20

const run = (options: GeneratorOptions): void => {
  const logins = JSON.parse(readFileSync(options.loginsFile, 'utf8')) as CellLogin[]
  const stats = { samples: 0, closed: 0, readyAt: 0 }
  let acknowledgedAfterMs: number[] = []
  let attempts = new Map<number, number>()
  let over = false

  const cells = logins.slice(options.from, options.to).map(login => {
    let attempt = 0
    const open = (): void => {
      const second = Math.floor(Date.now() / 1000)
      attempts.set(second, (attempts.get(second) ?? 0) + 1)
      cell.open()
    }
    const cell = new SimulatedCell(login, options.target, {
      ready: () => {
        attempt = 0
        stats.readyAt = Date.now()
      },
      onAcknowledged: milliseconds => acknowledgedAfterMs.push(milliseconds),
      onClosed: () => {
        stats.closed++
        if (!over) setTimeout(open, reconnectMs(attempt++))
      },
    })
    return { cell, open }
  })

  const spread = (everyMs: number, act: (cell: SimulatedCell) => void): void => {
    let done = 0
    const startedAt = performance.now()
    setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / everyMs) * cells.length)
      for (; done < due; done++) act((cells[done % cells.length] as (typeof cells)[0]).cell)
    }, TICK_MS)
  }

  const startedAt = performance.now()
  let opened = 0
  const opening = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * options.connectsPerSecond
    for (; opened < Math.min(due, cells.length); opened++) cells[opened]?.open()
    if (opened === cells.length) clearInterval(opening)
  }, TICK_MS)
  spread(options.sampleEveryMs, cell => {
    if (cell.ready) stats.samples++
    cell.sendSample()
  })
  spread(options.changeEveryMs, cell => cell.changeState())

  process.on('message', (message: 'stats' | 'forget' | 'stop') => {
    if (message === 'forget') attempts = new Map()
    if (message === 'stats') {
      const answer: Stats = {
        ...stats,
        ready: cells.filter(({ cell }) => cell.ready).length,
        acknowledgedChanges: Object.fromEntries(
          cells.map(({ cell }) => [cell.id, cell.acknowledgedChanges]),
        ),
        acknowledgedAfterMs,
        busiestSecond: Math.max(0, ...attempts.values()),
      }
      acknowledgedAfterMs = []
      process.send?.(answer)
    }
    if (message === 'stop') {
      over = true
      for (const { cell } of cells) cell.destroy()
      process.exit(0)
    }
  })
}

run(JSON.parse(process.argv[2] as string) as GeneratorOptions)
