import { ShoalError } from '../../shared/errors.ts'
import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'
import { isConfirmed, limitOutcome } from '../../shared/wire/device-outcome.ts'
import type { Interruption } from './lanes.ts'
import type { RecoveredRest } from './verb.ts'

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
export const toRecovered = (devices: readonly (RecoveredRest | undefined)[]): CommandOutcome => {
  const [first, ...others] = devices
  const taken = devices.filter(one => one?.isTakenOver === true)
  const isSettled = devices.every(
    one => one !== undefined && (one.isTakenOver || isConfirmed(one.outcome.seen)),
  )
  return {
    state: 'unknown',
    reason: isSettled ? (taken.length > 0 ? TAKEN_OVER : 'interrupted') : UNCONFIRMED,
    message: describeRecovery(isSettled, taken.length, devices.length),
    ...(others.length === 0 && first && limitOutcome(first.outcome)),
  }
}

/** Reason of a motion whose device a person has taken over. */
const TAKEN_OVER = 'taken_over'

const describeRecovery = (isSettled: boolean, taken: number, devices: number): string => {
  const ended = 'the daemon ended while it ran; after its restart,'
  const left = 'had another mode, set by a pilot or a failsafe, and received no order'
  if (isSettled && taken === devices) return `${ended} each device ${left}`
  const rest = isSettled
    ? 'was stopped and is at rest'
    : 'was sent a stop, but rest was not observed'
  return taken === 0
    ? `${ended} each device ${rest}`
    : `${ended} ${taken} of ${devices} devices ${left}; each other one ${rest}`
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
