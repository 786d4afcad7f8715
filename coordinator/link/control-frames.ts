import { MAX_LIST_BYTES } from './answer-head.ts'
import { FLAG, FRAME, MAX_FRAME_BYTES } from './frames.ts'
import type { Output } from './output.ts'
import { FIRST_WINDOW_BYTES, SETTING } from './peer-settings.ts'

const HELLO = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/** No table, so that no block of headers depends on another; a client takes no pushes. */
const SETTINGS = [
  [SETTING.headerTableBytes, 0],
  [SETTING.enablePush, 0],
  [SETTING.maxListBytes, MAX_LIST_BYTES],
] as const
const SETTING_BYTES = 6

/** What a client begins with (RFC 9113, section 3.4), and the window of the whole session. */
export const writeHello = (output: Output, sessionWindowBytes: number): void => {
  output.put(HELLO, 0, HELLO.length)
  output.head(SETTINGS.length * SETTING_BYTES, FRAME.settings, 0, 0)
  for (const [id, value] of SETTINGS) {
    output.uint16(id)
    output.uint32(value)
  }
  writeWindowUpdate(output, 0, sessionWindowBytes - FIRST_WINDOW_BYTES)
}

export const writeSettingsAck = (output: Output): void =>
  output.head(0, FRAME.settings, FLAG.ack, 0)

/** The head of a request, in as many frames as it needs, each of a size that every peer takes. */
export const writeHeaders = (
  output: Output,
  id: number,
  block: Buffer,
  blockBytes: number,
  isEnd: boolean,
): void => {
  const first = Math.min(blockBytes, MAX_FRAME_BYTES)
  const ends = (at: number) => (at === blockBytes ? FLAG.endHeaders : 0)
  output.head(first, FRAME.headers, ends(first) | (isEnd ? FLAG.endStream : 0), id)
  output.copy(block, 0, first)
  for (let at = first; at < blockBytes; ) {
    const next = Math.min(blockBytes, at + MAX_FRAME_BYTES)
    output.head(next - at, FRAME.continuation, ends(next), id)
    output.copy(block, at, next)
    at = next
  }
}

/** @param id of a stream, or 0 for the session */
export const writeWindowUpdate = (output: Output, id: number, bytes: number): void => {
  output.head(4, FRAME.windowUpdate, 0, id)
  output.uint32(bytes)
}

export const writeReset = (output: Output, id: number, code: number): void => {
  output.head(4, FRAME.reset, 0, id)
  output.uint32(code)
}

/** @param payload 8 bytes */
export const writePing = (output: Output, payload: Buffer, isAnswer: boolean): void => {
  output.head(payload.length, FRAME.ping, isAnswer ? FLAG.ack : 0, 0)
  output.put(payload, 0, payload.length)
}

/** The peer of a client opens no streams: the last that was taken is 0. */
export const writeGoAway = (output: Output, code: number): void => {
  output.head(8, FRAME.goAway, 0, 0)
  output.uint32(0)
  output.uint32(code)
}
