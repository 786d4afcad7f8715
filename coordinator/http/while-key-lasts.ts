import type { FastifyRequest } from 'fastify'
import type { Keys } from '../keys/keys.ts'
import { mayCall } from '../operations/call.ts'
import type { Operation } from '../operations/operation.ts'

export interface WhileKeyLasts {
  hold: Keys['hold'] | undefined
  request: Pick<FastifyRequest, 'key' | 'tenantId'>
  operation: Pick<Operation, 'access' | 'roles' | 'effect'>
}

/**
 * Runs a call. When its key ends meanwhile, what only reads ends at once with the reason; what acts
 * is told by the signal, and what it has done all the same is answered: nobody must be in doubt.
 */
export const whileKeyLasts = async <T>(
  { hold, request: { key, tenantId }, operation }: WhileKeyLasts,
  run: (ended: AbortSignal | undefined) => Promise<T>,
): Promise<T> => {
  if (hold === undefined || key === undefined) return run(undefined)
  const ending = new AbortController()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(error => ending.abort(error))
  const release = hold(key, { cut: reject, tenantId, may: key => mayCall(operation, key) })
  try {
    const running = run(ending.signal)
    return await (operation.effect === 'read' ? Promise.race([running, ended]) : running)
  } finally {
    release()
  }
}
