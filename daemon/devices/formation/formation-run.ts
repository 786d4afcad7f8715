import type { Json } from '../../../devices/profile.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { MAX_RESULT_BYTES } from '../../../shared/wire/command.ts'
import { describeCheck } from '../../../shared/wire/describe-check.ts'
import { type DeviceOutcome, limitOutcome } from '../../../shared/wire/device-outcome.ts'
import type { FormationUnitResult } from '../../../shared/wire/formation.ts'
import type { RunContext } from '../../commands/verb.ts'
import { checkUnits, type FormationCheckContext, measureDistance } from './check-formation.ts'
import type { CoordinatorTime } from './coordinator-time.ts'
import type { FormationBounds, UnitPlan } from './unit-plans.ts'

interface FormationRunParts extends FormationCheckContext {
  time: CoordinatorTime
  bounds: FormationBounds
  /** Start in unix milliseconds by the coordinator's clock. */
  start_at: number
  units: readonly UnitPlan[]
  context: Pick<RunContext, 'signal' | 'report' | 'noteResult'>
}

/** Time between two checks of units that wait for their stage, in milliseconds. */
const CHECK_EVERY_MS = 250

/**
 * One formation on this cell: moves the units stage by stage at times of the coordinator's clock.
 * Whatever ends one unit ends all of them, and it resolves or rejects when all are at rest.
 */
export class FormationRun {
  readonly #parts: FormationRunParts
  readonly #over = new AbortController()
  /** Operations asked of each device by its newest move, and the state observed. */
  readonly #outcomes = new Map<string, DeviceOutcome>()
  readonly #signal: AbortSignal

  constructor(parts: FormationRunParts) {
    this.#parts = parts
    this.#signal = AbortSignal.any([parts.context.signal, this.#over.signal])
  }

  /** Ends the formation. */
  end(reason: ShoalError): void {
    this.#over.abort(reason)
  }

  /**
   * Moves all units. Rejects with the reason why the formation has ended before, after it has noted how
   * far each unit came.
   */
  async run(): Promise<Json> {
    const { bounds, context } = this.#parts
    try {
      for (const [index, stage] of bounds.stages.entries()) {
        const percent = (100 * index) / bounds.stages.length
        context.report({ percent, message: `waiting for stage ${index + 1}` })
        await this.#runStage(index, stage)
      }
      return this.#describe()
    } catch (error) {
      context.noteResult?.(this.#describe())
      throw this.#over.signal.aborted ? this.#over.signal.reason : error
    }
  }

  async #runStage(index: number, { begins_s }: { begins_s: number }): Promise<void> {
    const { start_at, units } = this.#parts
    const begins_at = start_at + begins_s * 1000
    const staged = units.filter(({ stage }) => stage === index)
    await this.#waitWhileFit(begins_at, staged)
    this.#requireOnTime(begins_at, `stage ${index + 1}`)
    const moves = staged.map(unit => this.#move(unit, begins_at))
    for (const move of moves) move.catch(error => this.end(error))
    await Promise.allSettled(moves)
    this.#signal.throwIfAborted()
  }

  /**
   * Waits for the begin of a stage, and rejects as soon as a unit does not pass its checks: the other
   * cells must hear of that before they begin.
   */
  async #waitWhileFit(begins_at: number, units: readonly UnitPlan[]): Promise<void> {
    const { time } = this.#parts
    for (;;) {
      await this.#requireChecks(units)
      const left_ms = -time.since(begins_at).least_ms
      if (left_ms <= 0) return
      await time.waitFor(begins_at - Math.max(0, left_ms - CHECK_EVERY_MS), this.#signal)
    }
  }

  async #requireChecks(units: readonly UnitPlan[]): Promise<void> {
    const checks = await checkUnits(units, this.#parts.bounds, this.#parts, this.#signal)
    const failing = checks.find(({ holds }) => !holds)
    if (failing === undefined) return
    throw new ShoalError('conflict', describeCheck(failing))
  }

  /** A unit that has waited is checked again: others may command its device until it moves. */
  async #move(unit: UnitPlan, stageBegins_at: number): Promise<Json> {
    const { move, verb, part } = unit
    const begins_at = stageBegins_at + move.delay_s * 1000
    await this.#parts.time.waitFor(begins_at, this.#signal)
    if (move.delay_s > 0) await this.#requireChecks([unit])
    this.#signal.throwIfAborted()
    this.#requireOnTime(begins_at, move.device_id)
    const noteOutcome = (outcome: DeviceOutcome): void => {
      this.#outcomes.set(move.device_id, limitOutcome(outcome))
    }
    return verb.run(part, { signal: this.#signal, report: () => {}, noteOutcome })
  }

  #requireOnTime(begins_at: number, what: string): void {
    const { time, bounds } = this.#parts
    const { least_ms } = time.since(begins_at)
    if (least_ms > bounds.skew_ms)
      throw new ShoalError('conflict', `${what} would begin ${least_ms} ms late`)
  }

  /** Result of the formation: `FormationResult`. */
  #describe(): Json {
    return { units: this.#listResults() as unknown as Json }
  }

  #listResults(): FormationUnitResult[] {
    const last = new Map(this.#parts.units.map(({ move }) => [move.device_id, move.to]))
    const places = [...last].map(([device_id, to]) => ({
      device_id,
      distance_m: measureDistance(device_id, to, this.#parts.bounds.origin, this.#parts),
    }))
    const units = places.map(place => ({ ...place, ...this.#outcomes.get(place.device_id) }))
    // the distances of many units come first
    return Buffer.byteLength(JSON.stringify(units)) < MAX_RESULT_BYTES / 2 ? units : places
  }
}
