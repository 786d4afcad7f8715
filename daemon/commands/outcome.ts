import { ShoalError } from '../../shared/errors.ts'
import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'
import { boundOutcome, type DeviceOutcome, isConfirmed } from '../../shared/wire/device-outcome.ts'
import type { Interruption } from './lanes.ts'

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
export type CommandOutcome = Pick<Ack, 'state' | 'reason' | 'message' | 'result' | 'asked' | 'seen'>

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
export const toFailure = (error: Error): CommandOutcome => {
  const reason = findReason(error)
  const state = reason === UNCONFIRMED ? 'unknown' : 'failed'
  return { state, reason, message: shorten(error.message) }
}

/** Reason of a stop whose device was not seen at rest. */
const UNCONFIRMED = 'unconfirmed'

const findReason = (error: Error): string => {
  if (error instanceof CommandFailure) return error.reason
  return error instanceof ShoalError ? error.code : 'error'
}

/** Outcome of a command that the end of the daemon interrupted in this state. */
export const toInterrupted = (state: AckState): CommandOutcome =>
  state === 'executing'
    ? { state: 'unknown', reason: 'interrupted', message: 'the daemon ended while it ran' }
    : { state: 'failed', reason: 'interrupted', message: 'the daemon ended before it began' }

/** Outcome of a motion that the end of the daemon interrupted, once its devices were looked for. */
export const toRecovered = (outcomes: readonly (DeviceOutcome | undefined)[]): CommandOutcome => {
  const [first, ...others] = outcomes
  const isAtRest = outcomes.every(one => one !== undefined && isConfirmed(one.seen))
  const ended = 'the daemon ended while it ran; at its start'
  return {
    state: 'unknown',
    reason: isAtRest ? 'interrupted' : UNCONFIRMED,
    message: isAtRest
      ? `${ended} what it moved was stopped, and is at rest`
      : `${ended} what it moved was told to stop, and was not seen at rest`,
    ...(others.length === 0 && first && boundOutcome(first)),
  }
}

const INTERRUPTIONS: Readonly<Record<Interruption, string>> = {
  overtaken: 'an urgent command of the device',
  estopped: 'an e-stop of the device',
}

/** Outcome of a command that was ended before it was done. */
export const toInterruptedBy = (
  cause: Interruption,
  command: Command,
  hasBegun: boolean,
): CommandOutcome => ({
  state: hasBegun && !isHarmless(command) ? 'unknown' : 'failed',
  reason: cause,
  message: hasBegun
    ? `${INTERRUPTIONS[cause]} cancelled it`
    : `${INTERRUPTIONS[cause]} overtook it before it began`,
})
