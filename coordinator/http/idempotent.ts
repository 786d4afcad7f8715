import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import type { Operation } from '../operations/operation.ts'
import { Pending } from '../operations/pending.ts'

/** draft-ietf-httpapi-idempotency-key-header-07; quotes around it are part of it. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** An operation that changes something; asking twice is not the same as asking once. */
export const isMutation = ({ method, effect }: Pick<Operation, 'method' | 'effect'>): boolean =>
  method !== 'GET' && effect !== 'read'

export interface Repeatable {
  operation: Operation
  input: object
  /** The cell that was named beside the input. */
  cellId: string | undefined
  idempotency: Idempotency | undefined
  /** What names the call, and where it stands. */
  callKey: unknown
  param: string
}

/**
 * Runs a mutation that came with a key of its own once; a repetition gets the answer of the first.
 * One that waits for people is asked anew each time: the same call again is how it is carried out.
 */
export const onceWithKey = async (
  { key, tenantId }: Pick<FastifyRequest, 'key' | 'tenantId'>,
  { operation, input, cellId, idempotency, callKey, param }: Repeatable,
  run: () => Promise<unknown>,
): Promise<{ answer: unknown; replayed: boolean }> => {
  if (callKey === undefined || !isMutation(operation))
    return { answer: await run(), replayed: false }
  if (typeof callKey !== 'string' || !KEY.test(callKey))
    throw new ShoalError('invalid_request', 'it takes 1 to 255 visible characters', { param })
  if (key === undefined || idempotency === undefined)
    throw new ShoalError('invalid_request', 'an Idempotency-Key needs an API key', { param })
  const asked = fingerprint({ operation: operation.id, tenant: tenantId, input, cell: cellId })
  const { timeoutSeconds } = operation
  const call = { scope: key.id, callKey, fingerprint: asked, timeoutSeconds }
  const isKept = (answer: unknown) => !(answer instanceof Pending)
  return idempotency.once(call, run, isKept)
}

/** Throws `invalid_request` for text that is none in Unicode: it has no bytes to compare. */
const fingerprint = (asked: object): string => {
  try {
    return hash('sha256', canonicalJson(asked))
  } catch (cause) {
    throw new ShoalError('invalid_request', 'the input has text with half of a character', {
      cause,
    })
  }
}

/** The same for `Idempotency-Key`, with `Idempotency-Replayed: true` on a repetition. */
export const idempotent = async (
  request: FastifyRequest,
  reply: FastifyReply,
  repeatable: Omit<Repeatable, 'callKey' | 'param'>,
  run: () => Promise<unknown>,
): Promise<unknown> => {
  const callKey = request.headers['idempotency-key']
  const param = 'Idempotency-Key'
  const { answer, replayed } = await onceWithKey(request, { ...repeatable, callKey, param }, run)
  if (replayed) reply.header('idempotency-replayed', 'true')
  return answer
}
