import { MAX_LIST_BYTES } from './answer-head.ts'
import type { FrameOutput } from './frame-output.ts'
import { FLAG, FRAME, MAX_FRAME_BYTES } from './frames.ts'
import { FIRST_WINDOW_BYTES, SETTING } from './peer-settings.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/**
 * Settings without a dynamic table, so that no header block depends on another, and without pushes.
 */
const SETTINGS = [
  [SETTING.headerTableBytes, 0],
  [SETTING.enablePush, 0],
  [SETTING.maxListBytes, MAX_LIST_BYTES],
] as const
const SETTING_BYTES = 6

/** Writes the connection preface (RFC 9113, section 3.4) and the window of the session. */
export const writePreface = (output: FrameOutput, sessionWindowBytes: number): void => {
  output.put(PREFACE, 0, PREFACE.length)
  output.putHead(SETTINGS.length * SETTING_BYTES, FRAME.settings, 0, 0)
  for (const [id, value] of SETTINGS) {
    output.putUint16(id)
    output.putUint32(value)
  }
  writeWindowUpdate(output, 0, sessionWindowBytes - FIRST_WINDOW_BYTES)
}

export const writeSettingsAck = (output: FrameOutput): void =>
  output.putHead(0, FRAME.settings, FLAG.ack, 0)

/** Writes the head of a request, in frames of a size that every peer accepts. */
export const writeHeaders = (
  output: FrameOutput,
  id: number,
  block: Buffer,
  blockBytes: number,
  isEnd: boolean,
): void => {
  const first = Math.min(blockBytes, MAX_FRAME_BYTES)
  const ends = (at: number) => (at === blockBytes ? FLAG.endHeaders : 0)
  output.putHead(first, FRAME.headers, ends(first) | (isEnd ? FLAG.endStream : 0), id)
  output.copy(block, 0, first)
  for (let at = first; at < blockBytes; ) {
    const next = Math.min(blockBytes, at + MAX_FRAME_BYTES)
    output.putHead(next - at, FRAME.continuation, ends(next), id)
    output.copy(block, at, next)
    at = next
  }
}

/** @param id stream id, or 0 for the session */
export const writeWindowUpdate = (output: FrameOutput, id: number, bytes: number): void => {
  output.putHead(4, FRAME.windowUpdate, 0, id)
  output.putUint32(bytes)
}

export const writeReset = (output: FrameOutput, id: number, code: number): void => {
  output.putHead(4, FRAME.reset, 0, id)
  output.putUint32(code)
}

/** @param payload 8 bytes */
export const writePing = (output: FrameOutput, payload: Buffer, isAnswer: boolean): void => {
  output.putHead(payload.length, FRAME.ping, isAnswer ? FLAG.ack : 0, 0)
  output.put(payload, 0, payload.length)
}

/** Writes GOAWAY. The server opens no streams, so the last stream id is always 0. */
export const writeGoAway = (output: FrameOutput, code: number): void => {
  output.putHead(8, FRAME.goAway, 0, 0)
  output.putUint32(0)
  output.putUint32(code)
}
