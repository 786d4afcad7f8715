import type { HeldPieces } from '../../fleet/questions/held-pieces.ts'

/** Larger than any event; a longer one is forwarded in parts. */
const MAX_EVENT_BYTES = 1024 * 1024
const EVENT_END = Buffer.from('\n\n')
const NEWLINE = 0x0a

/** Last event of a stream, held back until its usage is on record. */
export const DONE = Buffer.from('data: [DONE]\n\n')

export const endsWithDone = (events: Buffer): boolean =>
  events.length >= DONE.length && events.subarray(-DONE.length).equals(DONE)

/**
 * Returns how many bytes of a piece can be forwarded behind those held. The beginning of an event is
 * held until its end: an error sent when the stream is cut must not be parsed as part of the event.
 */
export const countWholeEventBytes = (
  piece: Buffer,
  held: Pick<HeldPieces, 'bytes' | 'lastByte'>,
): number => {
  const end = piece.lastIndexOf(EVENT_END)
  if (end !== -1) return end + EVENT_END.length
  if (piece[0] === NEWLINE && held.lastByte === NEWLINE) return 1
  return held.bytes + piece.length > MAX_EVENT_BYTES ? piece.length : 0
}
