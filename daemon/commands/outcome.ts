import { type Ack, type AckState, type Command, isHarmless } from '../../shared/wire/command.ts'

/** How a command ended, or where it stands. */
export type Outcome = Pick<Ack, 'state' | 'reason' | 'message' | 'result'>

export interface Refusal {
  state: 'expired' | 'rejected'
  reason: string
  message: string
}

/** A text as it may stand in an ack: bounded, and without half a character at its end. */
export const short = (text: string): string => text.slice(0, 500).toWellFormed()

export const rejected = (reason: string, message: string): Refusal => ({
  state: 'rejected',
  reason,
  message: short(message),
})

/** What the end of the daemon means for a command in this state. */
export const interrupted = (state: AckState): Outcome =>
  state === 'executing'
    ? { state: 'unknown', reason: 'interrupted', message: 'the daemon ended while it ran' }
    : { state: 'failed', reason: 'interrupted', message: 'the daemon ended before it began' }

/** What an urgent command means for one of the same device that came before it. */
export const overtakenOutcome = (command: Command, hasBegun: boolean): Outcome => ({
  state: hasBegun && !isHarmless(command) ? 'unknown' : 'failed',
  reason: 'overtaken',
  message: hasBegun
    ? 'an urgent command of the device ended it'
    : 'an urgent command of the device came before it began',
})
