import type * as z from 'zod'
import type { Caller } from './caller.ts'
import type { GateRequest } from './gate-request.ts'

/** Plan of an operation, with the facts that its gate needs. */
export interface OperationPlan<P> {
  plan: P
  /** One line for approvers. */
  summary: string
  /** Gate that must approve the plan; absent when this plan needs no approval. */
  gate?: string
  /** A newer request with the same subject supersedes an older one; the plan itself by default. */
  subject?: string
  /**
   * JSON that the approval covers, if not the whole plan: resolved and bounded values, without
   * readings that change from call to call.
   */
  covers?: unknown
  /** Supporting evidence for approvers. */
  evidence?: unknown
  /** Changes the plan would make, for the requester. */
  difference?: z.core.util.JSONType
  /** The plan for the requester, part of the answer while the request is pending. */
  shown?: z.core.util.JSONType
  /** Requester at the gate, where that is not the person of the calling key: a visitor. */
  requester?: Caller
  /** An existing request that this call carries out; without it the call makes or finds its own. */
  request?: GateRequest
  /** Next step of the requester, in words; by default to make the same call again. */
  next?: (request: GateRequest) => string
  /** Lets a requester without a key come back; part of the answer while the request is pending. */
  claimToken?: string
  /** Releases what planning has reserved, if the request could not be created. */
  abandon?: () => Promise<void>
}

/** Plan of an operation that uses up a request approved before the call. */
export interface ApprovedPlan<P> extends Pick<OperationPlan<P>, 'plan' | 'covers'> {
  /** Request that this call uses up; absent when it needs no approval, or cannot go on. */
  request?: GateRequest | undefined
}
