import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Leader } from '../leader/leader.ts'
import { FINAL_JOB_STATES } from '../queue/job.ts'
import type { Queue } from '../queue/queue.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { countPlanned, jitterMs, requireRecurrence } from './recurrence.ts'
import type { NewSchedule, Schedule } from './schedule.ts'
import {
  changeSchedule,
  findSchedule,
  listDue,
  listSchedules,
  planNextRun,
  putSchedule,
  removeSchedule,
} from './schedule-store.ts'

interface SchedulesParts {
  ledger: Ledger
  queue: Pick<Queue, 'addWithin' | 'findWithin' | 'wake'>
  leader: Pick<Leader, 'isLeader' | 'requireLeader'>
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** A schedule that is due, by the clock of the store without its jitter. */
interface DueRun {
  name: string
  nextAt: number
  at: number
  /** Planned times that have passed since. */
  passed: number
}

/** Due schedules that one look starts; the next look takes the others. */
const BATCH = 64

/**
 * Jobs that recur. The leader adds the job of each planned time to the queue, in the transaction
 * in which it plans the next one, so that a crash neither loses nor repeats a run. A time that
 * passed while the service was down, or while the run before still went on, is counted as missed
 * and is not made up for.
 */
export class Schedules {
  readonly #parts: SchedulesParts
  #looking: Promise<void> | undefined

  constructor(parts: SchedulesParts) {
    this.#parts = parts
  }

  /** Adds a schedule or brings it up to date. Throws `invalid_request` for what never fires. */
  async put(schedule: NewSchedule): Promise<Schedule> {
    const { ledger, now } = this.#parts
    requireRecurrence(schedule, now())
    return ledger.sealed.write(async trx => {
      await putSchedule(trx, schedule, now())
      return requireSchedule(await findSchedule(trx, schedule.name), schedule.name)
    })
  }

  /** Throws `not_found`. */
  async get(name: string): Promise<Schedule> {
    return requireSchedule(await findSchedule(this.#parts.ledger.read, name), name)
  }

  list(): Promise<Schedule[]> {
    return listSchedules(this.#parts.ledger.read)
  }

  /** Switches a schedule on, from its next planned time, or off. Throws `not_found`. */
  async setEnabled(name: string, isEnabled: boolean): Promise<Schedule> {
    const { ledger, now } = this.#parts
    return ledger.sealed.write(async trx => {
      const schedule = requireSchedule(await findSchedule(trx, name), name)
      if (schedule.isEnabled === isEnabled) return schedule
      const planned = isEnabled ? planNextRun(schedule, now()) : {}
      await changeSchedule(trx, name, { enabled: isEnabled, changedAt: now(), ...planned })
      return requireSchedule(await findSchedule(trx, name), name)
    })
  }

  /** Removes a schedule; a run that has started goes on. Throws `not_found`. */
  async remove(name: string): Promise<void> {
    const isRemoved = await this.#parts.ledger.free.write(trx => removeSchedule(trx, name))
    if (!isRemoved) throw createNotFoundError(name)
  }

  /** Starts what is due, where this process leads. Calls during a look join it. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { ledger, queue, leader, logger, now } = this.#parts
    if (!leader.isLeader()) return
    const due = await listDue(ledger.read, now(), BATCH)
    for (const schedule of due)
      await this.#startDue(schedule).catch(error =>
        logger.warn({ err: error, schedule: schedule.name }, 'a schedule was not started'),
      )
    if (due.length > 0) queue.wake()
  }

  /** Counts what an outage has missed before the transaction, which must wait for nothing else. */
  async #startDue(schedule: Schedule): Promise<void> {
    const { ledger } = this.#parts
    const { name, nextAt, jitterSeconds } = schedule
    if (nextAt === undefined) return
    // the jitter shifts all planned times alike, so everything is compared on the shifted clock
    const at = (await ledger.free.write(ledger.nowMs)) - jitterMs(name, jitterSeconds)
    if (nextAt > at) return
    const passed = await countPlanned(schedule, nextAt, at)
    await ledger.sealed.write(trx => this.#start(trx, { name, nextAt, at, passed }))
  }

  /** Reads the schedule again: another process may have started it since the look. */
  async #start(trx: SealedTrx, { name, nextAt, at, passed }: DueRun): Promise<void> {
    const { leader, queue } = this.#parts
    await leader.requireLeader(trx)
    const schedule = await findSchedule(trx, name)
    if (schedule?.nextAt !== nextAt || !schedule.isEnabled) return
    const isInTime = at - nextAt <= schedule.graceSeconds * 1000
    const starts = isInTime && !(await this.#isRunning(trx, schedule))
    const values = {
      ...planNextRun(schedule, at),
      missed: schedule.missed + passed + (starts ? 0 : 1),
    }
    if (!starts) return changeSchedule(trx, name, values)
    const { kind, payload, tenantId } = schedule
    const job = await queue.addWithin(trx, {
      kind,
      payload,
      ...(tenantId === undefined ? {} : { tenantId }),
      onceKey: `schedule:${name}:${nextAt}`,
    })
    const runs = schedule.runs + 1
    await changeSchedule(trx, name, { ...values, runs, lastAt: nextAt, lastJobId: job.id })
  }

  async #isRunning(trx: Transaction<LedgerTables>, { lastJobId }: Schedule): Promise<boolean> {
    if (lastJobId === undefined) return false
    const job = await this.#parts.queue.findWithin(trx, lastJobId)
    return job !== undefined && !FINAL_JOB_STATES.includes(job.state)
  }
}

const requireSchedule = (schedule: Schedule | undefined, name: string): Schedule => {
  if (schedule === undefined) throw createNotFoundError(name)
  return schedule
}

const createNotFoundError = (name: string): ShoalError => createUnknownError('schedule', name)
