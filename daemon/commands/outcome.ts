import { ShoalError } from '../../shared/errors.ts'
import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'
import type { Precondition } from '../../shared/wire/plan-part.ts'

/** Failure of a verb with a reason of its own for the ack. */
export class CommandFailure extends Error {
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.name = 'CommandFailure'
    this.reason = reason
  }
}

/** Outcome or current state of a command. */
export type CommandOutcome = Pick<Ack, 'state' | 'reason' | 'message' | 'result'>

export interface CommandRefusal {
  state: 'expired' | 'rejected'
  reason: string
  message: string
}

/** Bounds a text for an ack, without splitting a surrogate pair. */
export const shorten = (text: string): string => text.slice(0, 500).toWellFormed()

export const toRejection = (reason: string, message: string): CommandRefusal => ({
  state: 'rejected',
  reason,
  message: shorten(message),
})

/** Outcome of a verb that threw. */
export const toFailure = (error: Error): CommandOutcome => ({
  state: 'failed',
  reason: findReason(error),
  message: shorten(error.message),
})

const findReason = (error: Error): string => {
  if (error instanceof CommandFailure) return error.reason
  return error instanceof ShoalError ? error.code : 'error'
}

/** Names what was observed and the limit, for people. */
export const describePrecondition = ({ name, observed, limit, source }: Precondition): string => {
  const origin = source === undefined ? '' : ` of the ${source}`
  return `${name} is ${JSON.stringify(observed)}, and the limit${origin} is ${JSON.stringify(limit)}`
}

/** Outcome of a command that the end of the daemon interrupted in this state. */
export const toInterrupted = (state: AckState): CommandOutcome =>
  state === 'executing'
    ? { state: 'unknown', reason: 'interrupted', message: 'the daemon ended while it ran' }
    : { state: 'failed', reason: 'interrupted', message: 'the daemon ended before it began' }

/** Outcome of a command that an urgent one of the same device overtook. */
export const toOvertaken = (command: Command, hasBegun: boolean): CommandOutcome => ({
  state: hasBegun && !isHarmless(command) ? 'unknown' : 'failed',
  reason: 'overtaken',
  message: hasBegun
    ? 'an urgent command of the device cancelled it'
    : 'an urgent command of the device overtook it before it began',
})
