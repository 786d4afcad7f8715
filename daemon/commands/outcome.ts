import type { Ack, AckState } from '../../shared/wire/command.ts'

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
