import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'
import type { Interruption } from './lanes.ts'

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
