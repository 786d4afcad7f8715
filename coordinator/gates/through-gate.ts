import type { Approval } from '../../shared/wire/approval.ts'
import type { Caller, NewRequest, Trx } from './asking.ts'
import type { GateKeeper } from './gates.ts'
import { ownSubject } from './own-subject.ts'
import type { GateRequest } from './request.ts'

export type Passage<T> = { open: true; result: T } | { open: false; request: GateRequest }

/**
 * Does something when it is approved, and asks for the approval when it is not: the same call again
 * carries it out once people have said yes. The approval is used up in the transaction of what it
 * allows, so that neither happens without the other.
 */
export const throughGate = async <T>(
  gates: Pick<GateKeeper, 'request' | 'consume'>,
  asked: NewRequest,
  caller: Caller,
  act: (trx: Trx, request: GateRequest, approval: Approval) => Promise<T>,
): Promise<Passage<T>> => {
  const subject = ownSubject(asked.plan, asked.subject)
  const request = await gates.request({ ...asked, subject }, caller)
  if (request.state !== 'approved') return { open: false, request }
  let result: T | undefined
  await gates.consume(request.id, caller, {
    plan: asked.plan,
    within: async (trx, approval) => {
      result = await act(trx, request, approval)
    },
  })
  return { open: true, result: result as T }
}
