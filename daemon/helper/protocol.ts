import type { CallProgress } from '../../shared/wire/answer-events.ts'

/** One call of a function that the helper knows by name. */
export interface CallOrder {
  type: 'call'
  id: number
  module: string
  function: string
  input: unknown
}

/** What the daemon sends to a helper process. */
export type Order =
  | CallOrder
  /** The reader has taken so many bytes of items: as many more may be sent. */
  | { type: 'credit'; id: number; bytes: number }
  /** The call has no reader any more. The process answers `end` or `error` once it has ended. */
  | { type: 'cancel'; id: number }

/** What a helper process sends. An item is text of JSON, so that its size is known before it travels. */
export type Frame =
  | { type: 'ready' }
  | { type: 'item'; id: number; json: string }
  | { type: 'progress'; id: number; progress: CallProgress }
  | { type: 'end'; id: number }
  | { type: 'error'; id: number; kind: 'failed' | 'too_large'; reason: string }

/** More than one item may have. */
export const MAX_ITEM_BYTES = 1024 * 1024

/** Items of a call that no reader has taken wait up to this and one item more; then the call waits. */
export const WINDOW_BYTES = 256 * 1024
