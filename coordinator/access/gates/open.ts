import type { Actor } from '../../kernel/audit/audit.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import type { Declarations } from './compliance/report.ts'
import type { Gates } from './definition.ts'
import { GateKeeper } from './gates.ts'
import { openPolicies, type Policies, readConfiguredPolicy } from './policies.ts'
import type { PolicyFacts, StoredPolicy } from './policy.table.ts'
import { findPolicy, type NewPolicy, putPolicy, readPolicies } from './policy-store.ts'

/** Rules, and the people who decide what the rules leave to them. */
export interface GateViews {
  gates: GateKeeper
  policies: Omit<Policies, 'close'> & {
    /** Approved policies that superseded the configured one, newest first. */
    history(page: { before?: number | undefined; limit: number }): Promise<PolicyFacts[]>
    /** Puts a policy in force with what approves it. Throws `conflict`. */
    putWithin(trx: SealedTrx, wanted: NewPolicy, by: Actor): Promise<StoredPolicy>
    findByNumber(number: number): Promise<StoredPolicy | undefined>
  }
  /** Declarations of the operator about controls that shoal cannot verify. */
  declarations: Declarations
}

interface GateDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { policy_file?: string | undefined; gates: Gates; compliance: Declarations }
  store: Pick<Store, 'ledger' | 'revisions'>
  signing: SigningKey
  events: Pick<Events, 'addWithin'>
}

const SWEEP_SECONDS = 5

export const openGates = async (parts: GateDomainParts): Promise<{ views: GateViews }> => {
  const { config, store, signing, events, stack, leaderWork, logger, now } = parts
  const { read } = store.ledger
  const configured = readConfiguredPolicy(config.policy_file, config.gates)
  const policies = await openPolicies({
    store,
    configured,
    gates: config.gates,
    logger,
    runtime: parts.runtime,
  })
  stack.defer(() => policies.close())
  const gates = new GateKeeper({
    store,
    get definitions() {
      return policies.current().gates
    },
    requireCurrent: policies.requireCurrent,
    signer: signing,
    addEvents: events.addWithin,
    now,
    runtime: parts.runtime,
    logger,
  })
  leaderWork.every('gates.sweep', SWEEP_SECONDS, ledger => gates.sweep(ledger))
  return {
    views: {
      gates,
      policies: {
        ...policies,
        history: page => readPolicies(read, page),
        putWithin: (trx, wanted, by) => putPolicy(trx, wanted, by, events.addWithin),
        findByNumber: number => findPolicy(read, number),
      },
      declarations: config.compliance,
    },
  }
}
