import { CODE, SessionFault } from './fault.ts'
import { FLAG, FRAME } from './frames.ts'
import type { Output } from './output.ts'
import { FIRST_WINDOW_BYTES, MAX_WINDOW_BYTES, type PeerSettings } from './peer-settings.ts'

/** One stream as far as it sends. */
export interface Sender {
  readonly id: number
  /** Bytes it may send still; negative after the peer has made its windows smaller. */
  sendWindow: number
  /** What was not sent yet; undefined when all was. */
  unsent: Buffer | undefined
}

/**
 * Sends bodies as far as the windows of the peer go. Streams that wait for the window of the session
 * take turns, one frame each.
 */
export class Sending {
  readonly #output: Output
  readonly #peer: PeerSettings
  readonly #waiting = new Set<Sender>()
  #window = FIRST_WINDOW_BYTES

  constructor(output: Output, peer: PeerSettings) {
    this.#output = output
    this.#peer = peer
  }

  start(sender: Sender): void {
    while (sender.unsent !== undefined && this.#mayBytes(sender) > 0) this.#frame(sender)
    if (sender.unsent !== undefined) this.#waiting.add(sender)
  }

  forget(sender: Sender): void {
    if (sender.unsent === undefined) return
    sender.unsent = undefined
    this.#waiting.delete(sender)
  }

  /** @throws SessionFault when the window becomes too large */
  widen(bytes: number): void {
    this.#window += bytes
    if (this.#window > MAX_WINDOW_BYTES)
      throw new SessionFault(CODE.flowControl, 'a window of the session that is too large')
    this.goOn()
  }

  /** After a window has become larger. */
  goOn(): void {
    for (const sender of this.#waiting) {
      if (this.#mayBytes(sender) <= 0) continue
      this.#frame(sender)
      this.#waiting.delete(sender)
      if (sender.unsent !== undefined) this.#waiting.add(sender)
    }
  }

  #mayBytes(sender: Sender): number {
    return Math.min(sender.sendWindow, this.#window, this.#peer.maxFrameBytes)
  }

  #frame(sender: Sender): void {
    const { id, unsent } = sender
    if (unsent === undefined) return
    const length = Math.min(unsent.length, this.#mayBytes(sender))
    const isLast = length === unsent.length
    this.#output.head(length, FRAME.data, isLast ? FLAG.endStream : 0, id)
    this.#output.put(unsent, 0, length)
    sender.sendWindow -= length
    this.#window -= length
    sender.unsent = isLast ? undefined : unsent.subarray(length)
  }
}
