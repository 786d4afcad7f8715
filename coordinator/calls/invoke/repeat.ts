import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Declaration } from '../../kernel/declaration/declaration.ts'
import { PendingResult } from '../../kernel/declaration/pending-result.ts'
import { hideSecretFields } from '../../kernel/declaration/secret-fields.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { parseInput } from './input.ts'
import type { Call, Invocation } from './invocation.ts'
import { timeLimitSeconds } from './time.ts'

/** draft-ietf-httpapi-idempotency-key-header-07; quotes around it are part of it. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** True for an operation that changes something: calling it twice differs from calling it once. */
export const isMutation = ({ method, effect }: Pick<Declaration, 'method' | 'effect'>): boolean =>
  method !== 'GET' && effect !== 'read'

interface Repeatable {
  views: () => object
  idempotency: Idempotency | undefined
  repeat: Invocation['repeat']
  runtime: Pick<Runtime, 'ids'>
}

/**
 * Runs a mutation that carries an idempotency key once; a repetition gets the answer of the first.
 * A pending answer is not kept: the same call again is how an approved plan is carried out.
 *
 * The claim outlasts the time limit of its call: while the work goes on a repetition is refused with
 * `conflict`, and afterwards it gets the late answer. Work that outlives even the claim can change
 * nothing any more once a repetition has begun. So a call that timed out can be repeated with its
 * key without doing anything twice.
 */
export const runOnce = async (
  call: Call,
  { views, idempotency, repeat, runtime }: Repeatable,
  run: () => Promise<unknown>,
  recall: (created: readonly string[]) => Promise<unknown>,
): Promise<{ answer: unknown; replayed: boolean }> => {
  const { operation, caller } = call
  requireCallKey(call, { views, runtime })
  if (repeat?.callKey === undefined || !isMutation(operation))
    return { answer: await run(), replayed: false }
  const { callKey, param } = repeat
  if (typeof callKey !== 'string' || !KEY.test(callKey))
    throw new ShoalError('invalid_request', 'it must be 1 to 255 visible characters', { param })
  if (operation.isEmergency) return { answer: await run(), replayed: false }
  if (caller.key === undefined || idempotency === undefined)
    throw new ShoalError('invalid_request', 'an Idempotency-Key needs an API key', { param })
  const repeatable = {
    scope: caller.key.id,
    callKey,
    fingerprint: fingerprintOf(call),
    timeoutSeconds: answerSeconds(operation),
  }
  return idempotency.once(repeatable, { run, isKept, recall })
}

/** Throws `invalid_request` for a call that may not be carried out twice and could be. */
const requireCallKey = (
  { operation, input, isOnce }: Call,
  { views, runtime }: Pick<Repeatable, 'views' | 'runtime'>,
): void => {
  if (isOnce || operation.needsCallKey === undefined) return
  if (!operation.needsCallKey(parseInput(operation, input) as never, views() as never)) return
  const message = `${operation.id} ${NO_CALL_KEY}; ${runtime.ids.uuid()} is a new one`
  throw new ShoalError('invalid_request', message, { param: 'Idempotency-Key' })
}

/** A key that is made here would not help: a caller whose answer is lost would not know it. */
const NO_CALL_KEY =
  'acts on the world and must not happen twice, so it needs an idempotency key: send the header ' +
  'Idempotency-Key (REST), the argument idempotency_key or _meta["io.shoal/idempotencyKey"] (MCP) ' +
  'or --idempotency-key (shoal); over A2A the id of the message is the key'

const isKept = (answer: unknown): boolean => !(answer instanceof PendingResult)

/** A task only has to start within the time limit of the call. */
const answerSeconds = (operation: Pick<Declaration, 'timeoutSeconds' | 'mode'>): number =>
  timeLimitSeconds(operation.mode === 'task' ? {} : operation)

/** Throws `invalid_request` for text that is not valid Unicode: it has no bytes to compare. */
const fingerprintOf = ({ operation, caller, input, cellId, upload }: Call): string => {
  try {
    // a digest of a short secret could be guessed
    const known = hideSecretFields(operation, input)
    const asked = {
      operation: operation.id,
      tenant: caller.tenantId,
      input: known,
      cell: cellId,
      ...(upload && { upload: upload.sha256 }),
    }
    return hash('sha256', canonicalJson(asked))
  } catch (cause) {
    throw new ShoalError('invalid_request', 'the input has text with half of a surrogate pair', {
      cause,
    })
  }
}
