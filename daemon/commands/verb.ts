import type * as z from 'zod'
import type { CommandProgress, Hazard, VerbFacts } from '../../shared/wire/command.ts'
import type { PlanPart, Precondition } from '../../shared/wire/plan-part.ts'

type Json = z.core.util.JSONType

export type Params = Record<string, unknown>

/** What a verb would do: operations as they go out, and the bounds that they keep. */
export type VerbPlan = Pick<PlanPart, 'operations' | 'bounds'>

export interface RunContext {
  /** Aborts when the time is up, an urgent command overtakes, or the daemon stops. */
  signal: AbortSignal
  /** Reports how far it has come; more than one report a second is dropped. */
  report: (progress: Partial<CommandProgress>) => void
}

/** One thing that this cell can be commanded to do. */
export interface Verb extends VerbFacts {
  params: z.ZodObject
  /** Gate that approves it where it is unsafe; `LIVE_GATE` by default. */
  gate?: string
  /** Present for a verb of devices: whether the cell has this one. */
  hasDevice?(deviceId: string): boolean
  /** Hazard of these parameters, at most `hazard`; absent: always `hazard`. */
  hazardOf?(params: Params): Hazard
  /**
   * Resolves parameters without touching anything: the same call answers the same plan, whatever
   * moves meanwhile. Throws ShoalError for what the device cannot do.
   */
  plan(params: Params, deviceId: string | undefined): VerbPlan
  /** Reads what the plan takes for granted, just before it runs; a dry run shows it too. */
  check?(part: PlanPart, signal: AbortSignal): Promise<Precondition[]>
  /** Carries out what is in the plan, and nothing else. */
  run(part: PlanPart, context: RunContext): Promise<Json>
}

export const factsOf = ({
  verb,
  description,
  hazard,
  timeout_seconds,
  urgent,
}: Verb): VerbFacts => ({
  verb,
  description,
  hazard,
  timeout_seconds,
  ...(urgent === undefined ? {} : { urgent }),
})
