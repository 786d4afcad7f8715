import type { ProgressReply } from '../protocol.ts'

/** Minimum interval between progress messages. */
const TELL_MS = 200

/** Reports the loaded share of the weights to the daemon a few times a second. */
export const progressTeller = (
  send: (reply: ProgressReply) => void,
  now: () => number,
): ((share: number) => void) => {
  let toldAt = Number.NEGATIVE_INFINITY
  return share => {
    if (now() - toldAt < TELL_MS) return
    toldAt = now()
    send({ type: 'progress', percent: share * 100 })
  }
}
