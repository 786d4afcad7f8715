/** One call of a function that the helper knows by name. */
export interface CallOrder {
  id: number
  module: string
  function: string
  input: unknown
}

/** What the helper says. The value is text of JSON, so that its size is known before it travels. */
export type HelperReply =
  | { type: 'ready' }
  | { type: 'value'; id: number; json: string }
  | { type: 'failed'; id: number; kind: 'failed' | 'too_large'; reason: string }

/** More than anything may answer. */
export const MAX_ANSWER_BYTES = 1024 * 1024
