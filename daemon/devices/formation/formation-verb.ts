import { ShoalError } from '../../../shared/errors.ts'
import { FORMATION_VERB, FormationParams } from '../../../shared/wire/formation.ts'
import { FORMATION_GATE, type PlanPart, type Precondition } from '../../../shared/wire/plan-part.ts'
import type { RunContext, Verb } from '../../commands/verb.ts'
import { checkUnits, type FormationCheckContext } from './check-formation.ts'
import type { CoordinatorTime } from './coordinator-time.ts'
import { FormationRun } from './formation-run.ts'
import {
  type FindUnitVerb,
  planUnits,
  readBounds,
  readUnits,
  toFormationPlan,
} from './unit-plans.ts'

/** Longest duration with the wait for the start, in seconds. */
const TIMEOUT_SECONDS = 3000

interface FormationVerbParts extends FormationCheckContext {
  cellId: string
  findVerb: FindUnitVerb
  time: CoordinatorTime
  /** Calls the listener with a reason whenever devices were stopped. Returns how to end that. */
  onStop: (listener: (isStopped: (deviceId: string) => boolean) => void) => () => void
}

/**
 * Creates the verb that moves this cell's units of a formation. It plans with the verbs of the
 * devices, so that each unit has the checks and the limits that it has for a move of its own.
 */
export const createFormationVerb = (parts: FormationVerbParts): Verb => {
  const { cellId, findVerb, time } = parts
  return {
    verb: FORMATION_VERB,
    description: 'Moves the units of this cell into a formation, together with those of others.',
    hazard: 'unsafe',
    gate: FORMATION_GATE,
    timeout_seconds: TIMEOUT_SECONDS,
    params: FormationParams,
    plan: params => {
      const formation = FormationParams.parse(params)
      return toFormationPlan(formation, planUnits(cellId, formation, findVerb))
    },
    check: async (part, signal) => {
      const bounds = readBounds(part)
      const { skew_ms } = bounds
      await time.narrow(skew_ms, signal)
      const units = readUnits(part, findVerb)
      return [checkClock(time, skew_ms), ...(await checkUnits(units, bounds, parts, signal))]
    },
    run: async (part, context) => runFormation(parts, part, context),
  }
}

/** Cells differ in their starts by no more than the width of what each knows about the time. */
const checkClock = ({ width_ms }: CoordinatorTime, skew_ms: number): Precondition => ({
  name: 'clock_width_ms',
  observed: width_ms === undefined ? null : Math.ceil(width_ms),
  limit: skew_ms,
  holds: width_ms !== undefined && width_ms <= skew_ms,
})

const runFormation = async (
  parts: FormationVerbParts,
  part: PlanPart,
  { signal, report, noteResult, command }: RunContext,
) => {
  const units = readUnits(part, parts.findVerb)
  const start_at = requireStart(command, parts.time)
  const context = { signal, report, ...(noteResult && { noteResult }) }
  const run = new FormationRun({ ...parts, units, bounds: readBounds(part), start_at, context })
  const ids = units.map(({ move }) => move.device_id)
  const off = parts.onStop(isStopped => {
    const stopped = ids.find(isStopped)
    if (stopped !== undefined) run.end(describeStop(stopped, parts.findStop(stopped)))
  })
  try {
    return await run.run()
  } finally {
    off()
  }
}

const describeStop = (deviceId: string, estopReason: string | undefined): ShoalError =>
  new ShoalError(
    'conflict',
    `${deviceId} was stopped${estopReason === undefined ? '' : ` by an e-stop: ${estopReason}`}`,
  )

/** The start is not part of what was approved: it must lie ahead, and within the approval. */
const requireStart = (command: RunContext['command'], time: CoordinatorTime): number => {
  const { start_at } = FormationParams.parse(command?.params)
  const approvedUntil = command?.approval?.approval.expires_at
  if (start_at === undefined)
    throw new ShoalError('invalid_request', 'a formation needs start_at', { param: 'start_at' })
  if (approvedUntil === undefined || start_at > approvedUntil)
    throw new ShoalError('forbidden', 'the approval expires before the start of the formation')
  if (time.since(start_at).most_ms > 0)
    throw new ShoalError('conflict', 'the start of the formation has passed; start it again')
  return start_at
}
