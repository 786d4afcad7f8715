import type * as z from 'zod'
import type { Command, CommandProgress, Hazard, VerbFacts } from '../../shared/wire/command.ts'
import type { DeviceOutcome } from '../../shared/wire/device-outcome.ts'
import type { PlanPart, Precondition } from '../../shared/wire/plan-part.ts'
import type { CommandRefusal } from './outcome.ts'

type Json = z.core.util.JSONType

type Params = Record<string, unknown>

/** Actions of a verb: operations as sent to the device, their bounds, and a gate of their own. */
export type VerbPlan = Pick<PlanPart, 'operations' | 'bounds' | 'gate'>

export interface RunContext {
  /** Aborts at the time limit, when an urgent command overtakes, or when the daemon stops. */
  signal: AbortSignal
  /** Reports progress; more than one report per second is dropped. */
  report: (progress: Partial<CommandProgress>) => void
  /** Notes what was asked of a device and observed; the newest is part of the final ack. */
  noteOutcome?: (outcome: DeviceOutcome) => void
  /** Notes the result of a verb that fails, for the final ack: what was done until then. */
  noteResult?: (result: Json) => void
  /** The command that runs; absent for a verb that is a step of another one. */
  command?: Pick<Command, 'params' | 'approval'>
  /** Reason why it must not begin now, for a verb that had to wait; absent for a step. */
  findRefusal?: () => CommandRefusal | undefined
}

/** A verb that this cell supports, itself or with one of its devices. */
export interface Verb extends VerbFacts {
  params: z.ZodObject
  /** Gate that approves unsafe uses; `LIVE_GATE` by default. */
  gate?: string
  /** Reason why it cannot be done now, whatever the parameters: the device is away. */
  findRefusal?(): CommandRefusal | undefined
  /** Hazard for these parameters, at most `hazard`; when absent, always `hazard`. */
  hazardOf?(params: Params): Hazard
  /**
   * Resolves parameters without side effects: equal calls return equal plans, whatever readings
   * change. Throws ShoalError for actions that the device does not support.
   */
  plan(params: Params): VerbPlan
  /** Reads the preconditions of the plan just before it runs; a dry run returns them too. */
  check?(part: PlanPart, signal: AbortSignal): Promise<Precondition[]>
  /**
   * Longest wait, in seconds, for a verb that was ended at its time limit: it brings a device to
   * rest first. None when absent.
   */
  restSeconds?: number
  /** Executes exactly what is in the plan. */
  run(part: PlanPart, context: RunContext): Promise<Json>
}

/** A device that an earlier run of the daemon left in motion. */
export interface RecoveredRest {
  outcome: DeviceOutcome
  /** True for one that was left to the person who has taken it over. */
  isTakenOver: boolean
}

/** Verbs of devices. Their names repeat, so that each is found by its device. */
export interface DeviceVerbs {
  /** Returns undefined for a device that the cell does not have. */
  findName(deviceId: string): string | undefined
  findVerb(deviceId: string, verb: string): Verb | undefined
  /**
   * Brings a device to rest that an earlier run of the daemon left in motion, unless a person has taken
   * it over since. Resolves with what was asked and seen when that is decided, or when the time for it
   * is over.
   */
  recoverRest?(deviceId: string): Promise<RecoveredRest>
}

export const toVerbFacts = ({
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
