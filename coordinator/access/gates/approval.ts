import type { Approval as SignedApproval } from '../../../shared/wire/approval.ts'
import type { Caller, Trx } from './asking.ts'
import type { GateKeeper } from './gates.ts'

interface ApprovedUse {
  requestId: string
  /** Plan of the action; it must be the approved plan. */
  plan: unknown
  caller: Caller
}

/** Approval of one exact plan, valid for one call. */
export class SingleUseApproval {
  readonly requestId: string
  readonly #gates: Pick<GateKeeper, 'consume'>
  readonly #use: ApprovedUse
  #isUsed = false

  constructor(gates: Pick<GateKeeper, 'consume'>, use: ApprovedUse) {
    this.requestId = use.requestId
    this.#gates = gates
    this.#use = use
  }

  /** The requester, a person or visitor; only they may use it. */
  get requesterId(): string {
    return this.#use.caller.person.personId
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

  /**
   * Does the work in the transaction that uses the approval, so that neither happens without the
   * other; `signed` is the approval in a form that a cell can verify offline. Throws `forbidden`
   * when the approval does not cover the plan now.
   */
  async use<R>(work: (trx: Trx, signed: SignedApproval) => Promise<R>): Promise<R> {
    const { requestId, plan, caller } = this.#use
    let result: R | undefined
    await this.#gates.consume(requestId, caller, {
      plan,
      runInTransaction: async (trx, signed) => {
        result = await work(trx, signed)
      },
    })
    this.#isUsed = true
    return result as R
  }
}
