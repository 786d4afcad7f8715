import { hash } from 'node:crypto'
import type { PlainMessage } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'

/** Mistral's templates take ids of nine letters and digits, and refuse all others. */
const LENGTH = 9

export const hasShortIds = (shape: CallShape): boolean =>
  shape === 'mistral' || shape === 'mistral-args'

/** Copy of a conversation with short ids; a tool's answer keeps the id of its call. */
export const shortenCallIds = (messages: readonly PlainMessage[]): PlainMessage[] =>
  messages.map(message => ({
    ...message,
    ...(message.calls && {
      calls: message.calls.map(call => ({ ...call, id: shortenId(call.id) })),
    }),
    ...(message.callId !== undefined && { callId: shortenId(message.callId) }),
  }))

const shortenId = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : hash('sha256', id).slice(0, LENGTH)
