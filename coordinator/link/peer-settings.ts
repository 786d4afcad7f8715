import { CODE, SessionFault } from './fault.ts'
import { MAX_FRAME_BYTES } from './frames.ts'

/** The largest window, RFC 9113, section 6.9.1. */
export const MAX_WINDOW_BYTES = 2 ** 31 - 1
/** Of a session and of each stream, until somebody says otherwise. */
export const FIRST_WINDOW_BYTES = 65_535

/** Identifiers of RFC 9113, section 6.5.2. */
export const SETTING = {
  headerTableBytes: 1,
  enablePush: 2,
  maxStreams: 3,
  windowBytes: 4,
  maxFrameBytes: 5,
  maxListBytes: 6,
} as const

const SETTING_BYTES = 6

/** What a peer has told of itself, and what holds until it does. */
export class PeerSettings {
  /** Streams that may be open at a time. */
  maxStreams = Number.POSITIVE_INFINITY
  /** Window of a new stream. */
  windowBytes = FIRST_WINDOW_BYTES
  maxFrameBytes = MAX_FRAME_BYTES

  /**
   * Takes over what one frame says.
   *
   * @throws SessionFault for values that must not be
   */
  read(bytes: Buffer, start: number, end: number): void {
    if ((end - start) % SETTING_BYTES !== 0)
      throw new SessionFault(CODE.frameSize, 'a part of a setting')
    for (let at = start; at < end; at += SETTING_BYTES)
      this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2))
  }

  #set(id: number, value: number): void {
    if (id === SETTING.maxStreams) this.maxStreams = value
    else if (id === SETTING.windowBytes) {
      if (value > MAX_WINDOW_BYTES)
        throw new SessionFault(CODE.flowControl, 'a window that is too large')
      this.windowBytes = value
    } else if (id === SETTING.maxFrameBytes) {
      if (value < MAX_FRAME_BYTES || value > 0xffffff)
        throw new SessionFault(CODE.protocol, `frames of ${value} bytes`)
      this.maxFrameBytes = value
    } else if (id === SETTING.enablePush && value !== 0)
      throw new SessionFault(CODE.protocol, 'a push that no server may offer')
  }
}
