import type { CallToolResult } from '@modelcontextprotocol/server'
import { errorBody, type ShoalError } from '../../../shared/errors.ts'
import { judgeAnswer, type SuccessRule, type Verdict } from '../../../shared/success-rule.ts'
import type { PendingResult } from '../../kernel/declaration/pending-result.ts'

/** The output as data, and the same as text; an error where the output says that the call failed. */
export const toToolResult = (output: unknown, success?: SuccessRule): CallToolResult => ({
  ...(FAILURES.includes(judgeAnswer(output, success).kind) && { isError: true }),
  content: [{ type: 'text', text: JSON.stringify(output) }],
  structuredContent: output as Record<string, unknown>,
})

/** The counterpart of the header `Idempotency-Replayed` of REST. */
const REPLAYED_META_KEY = 'io.shoal/idempotencyReplayed'

/**
 * Marks the stored result of an earlier call, in words too: a model that repeats an old key by
 * mistake must not report that something was done.
 */
export const markReplayed = (result: CallToolResult): CallToolResult => ({
  ...result,
  content: [...result.content, { type: 'text', text: REPLAYED }],
  _meta: { ...result._meta, [REPLAYED_META_KEY]: true },
})

const REPLAYED =
  'This is the stored result of the first call with this idempotency key; nothing was done now. ' +
  'A new action needs a new key.'

const FAILURES: readonly Verdict['kind'][] = ['failed', 'unknown']

/**
 * Result of a call that awaits approval. The person at the client is the requester, so nothing said
 * here or answered there counts as an approval.
 */
export const toPendingResult = (pending: PendingResult): CallToolResult => ({
  content: [{ type: 'text', text: describePending(pending) }],
  structuredContent: pending.view,
})

const describePending = ({ view, isApproved }: PendingResult): string =>
  isApproved
    ? `Not done yet, but approved at ${view.gate_id} until ${view.expires_at}: ${view.next}.`
    : describeUndecided(view)

const describeUndecided = (view: PendingResult['view']): string =>
  [
    `Not done: approval is pending at ${view.gate_id} until ${view.expires_at}.`,
    `Another person can approve it with: shoal gate approve ${view.request_id}`,
    `To see its state, call the tool gates-show with {"request_id":"${view.request_id}"}.`,
    `Next: ${view.next}.`,
  ].join('\n')

/** A failed call is an answer that the model can read, with the body that REST has. */
export const toErrorResult = (error: ShoalError): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: JSON.stringify(errorBody(error)) }],
})
