import { ERROR_CODE, SessionFault } from './fault.ts'
import type { FrameCredit } from './frame-credit.ts'
import type { FrameOutput } from './frame-output.ts'
import { FLAG, FRAME } from './frames.ts'
import { FIRST_WINDOW_BYTES, MAX_WINDOW_BYTES, type PeerSettings } from './peer-settings.ts'

/** The sending side of a stream. */
export interface SendingStream {
  readonly id: number
  /** Bytes the stream may send; negative after the peer has shrunk its windows. */
  sendWindow: number
  /** Rest of the body; undefined once all of it was sent. */
  unsent: Buffer | undefined
}

/**
 * Sends request bodies within the windows of the peer. Streams that wait for the window of the
 * session take turns, one frame each.
 */
export class BodySender {
  readonly #output: FrameOutput
  readonly #peer: PeerSettings
  readonly #credit: FrameCredit
  readonly #waiting = new Set<SendingStream>()
  #window = FIRST_WINDOW_BYTES

  constructor(output: FrameOutput, peer: PeerSettings, credit: FrameCredit) {
    this.#output = output
    this.#peer = peer
    this.#credit = credit
  }

  start(sender: SendingStream): void {
    while (sender.unsent !== undefined && this.#sendableBytes(sender) > 0) this.#sendFrame(sender)
    if (sender.unsent !== undefined) this.#waiting.add(sender)
  }

  cancel(sender: SendingStream): void {
    if (sender.unsent === undefined) return
    sender.unsent = undefined
    this.#waiting.delete(sender)
  }

  /**
   * Widens the window of the session.
   *
   * @throws SessionFault when the window becomes too large
   */
  widenWindow(bytes: number): void {
    this.#window += bytes
    if (this.#window > MAX_WINDOW_BYTES)
      throw new SessionFault(ERROR_CODE.flowControl, 'a window of the session that is too large')
    this.sendWaiting()
  }

  /** Sends what fits after a window was widened. */
  sendWaiting(): void {
    for (const sender of this.#waiting) {
      if (this.#sendableBytes(sender) <= 0) continue
      this.#sendFrame(sender)
      this.#waiting.delete(sender)
      if (sender.unsent !== undefined) this.#waiting.add(sender)
    }
  }

  #sendableBytes(sender: SendingStream): number {
    return Math.min(sender.sendWindow, this.#window, this.#peer.maxFrameBytes)
  }

  #sendFrame(sender: SendingStream): void {
    const { id, unsent } = sender
    if (unsent === undefined) return
    const length = Math.min(unsent.length, this.#sendableBytes(sender))
    const isLast = length === unsent.length
    this.#output.putHead(length, FRAME.data, isLast ? FLAG.endStream : 0, id)
    this.#output.put(unsent, 0, length)
    this.#credit.earnBody(length)
    sender.sendWindow -= length
    this.#window -= length
    sender.unsent = isLast ? undefined : unsent.subarray(length)
  }
}
