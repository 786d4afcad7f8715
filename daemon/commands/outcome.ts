import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'

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
