import type { Logger } from 'pino'
import type { AuditHead } from '../../shared/wire/audit-head.ts'
import { guardAudit } from '../audit/guard.ts'
import { keepRetention } from '../audit/retention.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Events } from '../events/bus.ts'
import { createGates } from '../gates/gates.ts'
import { type ConfiguredPolicy, openPolicies } from '../gates/policies.ts'
import { sweepGates } from '../gates/sweep.ts'
import type { Signing } from '../signing/signing.ts'
import type { Store } from '../store/store.ts'
import { createWitnesses, type WitnessParts } from './audit-witnesses.ts'

export interface GoverningParts {
  config: CoordinatorConfig
  store: Store
  signing: Signing
  events: Events
  configured: ConfiguredPolicy
  bus: WitnessParts['bus']
  fleet: WitnessParts['fleet']
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** What holds the fleet to its rules: the audit under guard, the policy in force, the gates. */
export const govern = async (parts: GoverningParts) => {
  const { config, store, signing, configured, bus, fleet, logger, now, nowMs } = parts
  const { ledger } = store
  const { publish } = parts.events
  const closing = new AbortController()
  const guardClosing = new AbortController()
  const guard = guardAudit({
    ...{ ledger, signer: signing, stateDir: config.state_dir, publish, logger, now },
    signal: guardClosing.signal,
    broadcast: createWitnesses({ bus, fleet, logger }),
  })
  const retaining = keepRetention({
    ...{ ledger, signer: signing, guard, logger, now, nowMs },
    signal: closing.signal,
    retentionDays: config.audit.retention_days,
  })
  const policies = await openPolicies({ store, configured, gates: config.gates, publish, logger })
  const gates = createGates({
    store,
    get definitions() {
      return policies.current().gates
    },
    requireCurrent: policies.requireCurrent,
    signer: signing,
    publish,
    now,
  })
  const stopSweeping = sweepGates(gates, logger)

  /** A head of the audit that a cell has kept. */
  const witnessed = (head: AuditHead, cellId: string): void => {
    guard
      .witnessed(head, cellId)
      .catch(error => logger.warn({ err: error }, 'a witness was not heard'))
  }
  const close = async (): Promise<void> => {
    stopSweeping()
    policies.close()
    closing.abort()
    await retaining
    // last, so that the head that it signs covers every row
    guardClosing.abort()
    await guard.ended
  }
  return { policies, gates, witnessed, auditHead: guard.head, trouble: guard.trouble, close }
}

export type Governing = Awaited<ReturnType<typeof govern>>
