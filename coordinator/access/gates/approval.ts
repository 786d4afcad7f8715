import type { Approval as SignedApproval } from '../../../shared/wire/approval.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { SingleUseApproval } from '../../kernel/declaration/single-use-approval.ts'
import type { Trx } from './asking.ts'
import type { GateKeeper } from './gates.ts'

interface ApprovedUse {
  requestId: string
  /** Plan of the action; it must be the approved plan. */
  plan: unknown
  caller: Caller
}

/** Approval by the people of a gate. */
export class GateApproval implements SingleUseApproval {
  readonly requestId: string
  readonly #gates: Pick<GateKeeper, 'consume'>
  readonly #use: ApprovedUse
  #isUsed = false

  constructor(gates: Pick<GateKeeper, 'consume'>, use: ApprovedUse) {
    this.requestId = use.requestId
    this.#gates = gates
    this.#use = use
  }

  get requesterId(): string {
    return this.#use.caller.person.personId
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

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
