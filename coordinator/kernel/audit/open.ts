import { waitBy } from '../../../shared/runtime.ts'
import type { AuditHead } from '../../../shared/wire/audit-head.ts'
import type { Base } from '../base/base.ts'
import { Listeners } from '../base/listeners.ts'
import type { Events } from '../events/bus.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Scope } from '../store/scope.ts'
import type { Store } from '../store/store.ts'
import type { AuditRow } from './audit.table.ts'
import type { Head } from './audit.ts'
import { AuditGuard } from './guard.ts'
import { type AuditFilter, queryAudit, readAuditRow } from './query.ts'
import { keepRetention } from './retention.ts'
import { type AuditVerdict, checkAgainstWitness, verifyOnce } from './verify.ts'

export interface AuditViews {
  audit: {
    query(filter: AuditFilter, scope: Scope): Promise<AuditRow[]>
    row(seq: number, scope: Scope): Promise<AuditRow | undefined>
    /** Checks the whole chain, and that a head seen before is part of it. */
    verify(witness?: Head): Promise<AuditVerdict>
    /** Returns whether the store refuses to change or delete rows. */
    isAppendOnly(): Promise<boolean>
    /** The newest row that was signed; undefined before the first. */
    head(): AuditHead | undefined
    /** Retention of rows, in days. */
    retentionDays: number
  }
}

/** The chain under guard, for the other parts. */
export interface GuardedAudit {
  /** Compares a head that a cell has kept with the chain. */
  compareHead(head: AuditHead, cellId: string): void
  /** Reports every head that is signed. Returns how to stop that. */
  onHead(listener: (head: AuditHead) => void): () => void
  /** Returns the fault of the audit; undefined while it is intact. */
  trouble(): string | undefined
}

interface AuditParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs' | 'runtime'>,
    Pick<OpenLeader, 'leader'> {
  config: { state_dir: string; audit: { retention_days: number } }
  store: Pick<Store, 'ledger' | 'revisions'>
  replicas: Pick<Replicas, 'owns'>
  signing: SigningKey
  events: Pick<Events, 'publish' | 'addWithin'>
}

export const openAudit = (parts: AuditParts): { audit: GuardedAudit; views: AuditViews } => {
  const { config, signing, logger, now, nowMs, stack } = parts
  const { ledger } = parts.store
  const wait = waitBy(parts.runtime)
  const guardClosing = new AbortController()
  const heads = new Listeners<[AuditHead]>()
  const guard = AuditGuard.start({
    ledger,
    revisions: parts.store.revisions,
    signer: signing,
    stateDir: config.state_dir,
    isReporter: () => parts.replicas.owns('audit'),
    broadcast: heads.notify,
    events: parts.events,
    logger,
    signal: guardClosing.signal,
    wait,
    now,
  })
  // after every part that writes has closed, so that the head that it signs covers every row
  stack.defer(() => {
    guardClosing.abort()
    return guard.ended
  })
  const { retention_days: retentionDays } = config.audit
  const closing = new AbortController()
  const retaining = keepRetention({
    ledger,
    signer: signing,
    guard,
    leader: parts.leader,
    logger,
    now,
    nowMs,
    signal: closing.signal,
    wait,
    retentionDays,
  })
  stack.defer(() => {
    closing.abort()
    return retaining
  })

  const compareHead: GuardedAudit['compareHead'] = (head, cellId) => {
    guard
      .compareHead(head, cellId)
      .catch(error => logger.warn({ err: error }, 'a witness is ignored'))
  }
  const { endorses } = signing
  const verify: AuditViews['audit']['verify'] = async witness => {
    const whole = await verifyOnce(ledger, endorses)
    return witness === undefined ? whole : checkAgainstWitness(ledger, whole, { witness, endorses })
  }
  return {
    audit: { compareHead, onHead: heads.add, trouble: () => guard.trouble() },
    views: {
      audit: {
        query: (filter, scope) => queryAudit(ledger, filter, scope),
        row: (seq, scope) => readAuditRow(ledger, seq, scope),
        verify,
        isAppendOnly: () => ledger.isAppendOnly('audit'),
        head: () => guard.head(),
        retentionDays,
      },
    },
  }
}
