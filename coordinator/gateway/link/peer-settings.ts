import { ERROR_CODE, SessionFault } from './fault.ts'
import { MAX_FRAME_BYTES } from './frames.ts'

/** Largest flow-control window (RFC 9113, section 6.9.1). */
export const MAX_WINDOW_BYTES = 2 ** 31 - 1
/** Initial window of a session and of each stream (RFC 9113, section 6.9.2). */
export const FIRST_WINDOW_BYTES = 65_535

/** Setting identifiers (RFC 9113, section 6.5.2). */
export const SETTING = {
  headerTableBytes: 1,
  enablePush: 2,
  maxStreams: 3,
  windowBytes: 4,
  maxFrameBytes: 5,
  maxListBytes: 6,
} as const

const SETTING_BYTES = 6

/** Settings of the peer, with the defaults that hold until it sends them. */
export class PeerSettings {
  /** Limit of concurrent streams. */
  maxStreams = Number.POSITIVE_INFINITY
  /** Initial window of a new stream. */
  windowBytes = FIRST_WINDOW_BYTES
  maxFrameBytes = MAX_FRAME_BYTES

  /**
   * Applies the settings of one frame.
   *
   * @throws SessionFault for invalid values
   */
  read(bytes: Buffer, start: number, end: number): void {
    if ((end - start) % SETTING_BYTES !== 0)
      throw new SessionFault(ERROR_CODE.frameSize, 'an incomplete setting')
    for (let at = start; at < end; at += SETTING_BYTES)
      this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2))
  }

  #set(id: number, value: number): void {
    if (id === SETTING.maxStreams) this.maxStreams = value
    else if (id === SETTING.windowBytes) {
      if (value > MAX_WINDOW_BYTES)
        throw new SessionFault(ERROR_CODE.flowControl, 'a window that is too large')
      this.windowBytes = value
    } else if (id === SETTING.maxFrameBytes) {
      if (value < MAX_FRAME_BYTES || value > 0xffffff)
        throw new SessionFault(ERROR_CODE.protocol, `an invalid frame size of ${value} bytes`)
      this.maxFrameBytes = value
    } else if (id === SETTING.enablePush && value !== 0)
      throw new SessionFault(ERROR_CODE.protocol, 'an offer of pushes, which only clients may make')
  }
}
