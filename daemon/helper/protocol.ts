import type { CallProgress } from '../../shared/wire/answer-events.ts'

/** File descriptor of the helper process for messages in both directions, one JSON text per line. */
export const LINK_FD = 3

/** Call of a helper function by name. */
export interface CallOrder {
  type: 'call'
  id: number
  module: string
  function: string
  input: unknown
}

/** Messages from the daemon to a helper process. */
export type HelperOrder =
  | CallOrder
  /** Number of bytes that the reader has consumed: as many more may be sent. */
  | { type: 'credit'; id: number; bytes: number }
  /** The call has no reader any more. The process sends `end` or `error` once it has ended. */
  | { type: 'cancel'; id: number }

/**
 * Messages from a helper process. An item is JSON text, so that its size is known before sending.
 */
export type HelperFrame =
  | { type: 'ready' }
  | { type: 'item'; id: number; json: string }
  | { type: 'progress'; id: number; progress: CallProgress }
  | { type: 'end'; id: number }
  | { type: 'error'; id: number; kind: 'failed' | 'too_large'; reason: string }

/** Largest item, in bytes. */
export const MAX_ITEM_BYTES = 1024 * 1024

/**
 * Largest message of a helper process, in bytes: JSON text grows to at most twice its size as a
 * JSON string. A process that sends more is broken.
 */
export const MAX_FRAME_BYTES = 2 * MAX_ITEM_BYTES + 4096

/** Size that each item counts in addition to its text, so that tiny items do not pile up. */
export const ITEM_OVERHEAD_BYTES = 32

/** Bytes of flow-control credit that an item takes. */
export const countItemBytes = (json: string): number =>
  Buffer.byteLength(json) + ITEM_OVERHEAD_BYTES

/** Flow-control window in bytes: unread items beyond it, and one more item, pause the call. */
export const WINDOW_BYTES = 256 * 1024
