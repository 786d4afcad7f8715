import { ERROR_CODE, SessionFault } from './fault.ts'

/** Cost of a frame. An answer that arrives in smaller frames costs more than it earns. */
const FRAME_COST = 16
/** Cost of a piece of the socket, so that frames in single bytes are charged too. */
const PIECE_COST = 4
/** Part of the bytes that count, as a shift: one unit for 64 bytes. */
const BYTES_SHIFT = 6
/** Heads, trailers, an empty end of data and a reset after an early answer, with some to spare. */
const REQUEST_CREDIT = 8 * FRAME_COST
/** Full account: 10,000 frames between two beats that do no work. */
const FULL_CREDIT = 10_000 * FRAME_COST

/**
 * Account of one session, which weighs what the cell sends against the work that it does. Every
 * frame is charged, whatever its type and stream; requests, the bytes of open answers and the bytes
 * of bodies that the cell accepts earn, and each beat fills the account. What is earned beyond a
 * full account is lost, so that a cell cannot save up for a flood. What a cell has sent before it
 * learns that a stream was cancelled earns as on an open stream, up to the window it had.
 */
export class FrameCredit {
  #left = FULL_CREDIT
  /** Bytes that may still arrive on cancelled streams. */
  #late = 0
  /** Part of `#late` that was granted since the last beat. */
  #granted = 0

  /**
   * Charges a frame with a payload of so many bytes.
   *
   * @throws SessionFault when the account is empty
   */
  chargeFrame(bytes: number): void {
    this.#charge(FRAME_COST + (bytes >> BYTES_SHIFT))
  }

  /** Charges one read of the socket. @throws SessionFault when the account is empty */
  chargePiece(): void {
    this.#charge(PIECE_COST)
  }

  earnRequest(): void {
    this.#earn(REQUEST_CREDIT)
  }

  /** @param bytes bytes of an open answer that the cell has sent */
  earnAnswer(bytes: number): void {
    this.#earn(bytes)
  }

  /** @param bytes bytes that the cell may have sent on a stream before it learns of its end */
  grantLate(bytes: number): void {
    this.#late += bytes
    this.#granted += bytes
  }

  /** @param bytes bytes of a stream that has ended */
  earnLate(bytes: number): void {
    const earned = Math.min(bytes, this.#late)
    this.#late -= earned
    this.#earn(earned)
  }

  /** @param bytes bytes of a body that the windows of the cell let through */
  earnBody(bytes: number): void {
    this.#earn(bytes >> BYTES_SHIFT)
  }

  /** Fills the account: the cell has answered a ping, and with it every reset from before that. */
  fill(): void {
    this.#left = FULL_CREDIT
    this.#late = Math.min(this.#late, this.#granted)
    this.#granted = 0
  }

  #charge(units: number): void {
    this.#left -= units
    if (this.#left < 0)
      throw new SessionFault(ERROR_CODE.calm, 'far more frames than its requests and answers need')
  }

  #earn(units: number): void {
    this.#left = Math.min(FULL_CREDIT, this.#left + units)
  }
}
