import type { CallToolResult } from '@modelcontextprotocol/server'
import { errorBody, type ShoalError } from '../../shared/errors.ts'
import type { Pending } from '../operations/pending.ts'

/** The output as data, and the same as text for clients that know no other. */
export const answered = (output: unknown): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(output) }],
  structuredContent: output as Record<string, unknown>,
})

/**
 * Result of a call that awaits approval. The person at the client is the requester, so nothing said
 * here or answered there counts as an approval.
 */
export const waiting = (pending: Pending): CallToolResult => ({
  content: [{ type: 'text', text: inWords(pending) }],
  structuredContent: pending.view,
})

const inWords = ({ view, isApproved }: Pending): string =>
  isApproved
    ? `Not done yet, but approved at ${view.gate_id} until ${view.expires_at}: ${view.next}.`
    : whileUndecided(view)

const whileUndecided = (view: Pending['view']): string =>
  [
    `Not done: approval is pending at ${view.gate_id} until ${view.expires_at}.`,
    `Another person can approve it with: shoal gate approve ${view.request_id}`,
    `To see its state, call the tool gates-show with {"request_id":"${view.request_id}"}.`,
    `Next: ${view.next}.`,
  ].join('\n')

/** A failed call is an answer that the model can read, with the body that REST has. */
export const refused = (error: ShoalError): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: JSON.stringify(errorBody(error)) }],
})
