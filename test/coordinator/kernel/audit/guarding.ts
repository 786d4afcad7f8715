import { sql } from 'kysely'
import { createAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { AuditGuard } from '../../../../coordinator/kernel/audit/guard.ts'
import type { SealedTrx, Store } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime, waitBy } from '../../../../shared/runtime.ts'
import type { AuditHead } from '../../../../shared/wire/audit-head.ts'
import { silent } from '../../../support/cell.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { signingOf } from '../../../support/secrets.ts'
import { notInFiles, testStore } from '../store/temporary.ts'

type AuditGuardParts = Parameters<typeof AuditGuard.start>[0]

export const signer = loneSigner()

/** A guard over the store; the answer has what it reported, and ends it. */
export const startGuard = (
  store: Store,
  stateDir: string,
  own: AuditGuardParts['signer'] = signer,
) => {
  const stop = new AbortController()
  const events: string[] = []
  let tell: (head: AuditHead) => void = () => {}
  const signed = new Promise<AuditHead>(resolve => {
    tell = resolve
  })
  const guard = AuditGuard.start({
    ledger: store.ledger,
    revisions: store.revisions,
    isReporter: () => true,
    signer: own,
    stateDir,
    logger: silent,
    signal: stop.signal,
    broadcast: head => tell(head),
    events: {
      publish: type => void events.push(type),
      addWithin: async (_trx, drafts) => void events.push(...drafts.map(({ type }) => type)),
    },
    now: () => 1000,
    wait: waitBy(systemRuntime),
  })
  const end = (): Promise<void> => {
    stop.abort()
    return guard.ended
  }
  return { guard, events, signed, stop: end }
}

export const append = async (store: Store, count: number, word = 'test'): Promise<void> => {
  const audit = createAudit(store)
  for (let n = 1; n <= count; n++)
    await audit.append({
      actor: 'a',
      action: `${word}.run`,
      subject: `s${n}`,
      outcome: 'done',
      at: n,
    })
}

/** Opens the store again like `reopenStore`, with the signing key in the store itself. */
export const reopenSigned = async (folder: string) => {
  const store = await testStore(folder)
  const watched = startGuard(store, folder, await signingOf(store, folder))
  await watched.guard.checked
  await watched.stop()
  return { store, ...watched }
}

/** The store at its next start, whose guard has checked the audit and was stopped again. */
export const reopenStore = async (folder: string, own?: AuditGuardParts['signer']) => {
  const store = await testStore(folder)
  const watched = startGuard(store, folder, own)
  await watched.guard.checked
  await watched.stop()
  return { store, ...watched }
}

/** Drops the triggers that keep the rows of the audit. */
export const dropGuards = async (trx: SealedTrx, verbs = ['update', 'delete']): Promise<void> => {
  for (const verb of verbs) {
    const name = sql.ref(`audit_no_${verb}`)
    // in PostgreSQL a trigger goes with the function that has its name
    await (notInFiles
      ? sql`drop function if exists ${name} cascade`
      : sql`drop trigger if exists ${name}`
    ).execute(trx)
  }
}

/** Changes what is stored as somebody who has the disk and knows the database. */
export const tamper = async (
  folder: string,
  change: (trx: SealedTrx, store: Store) => Promise<unknown>,
): Promise<void> => {
  const store = await testStore(folder)
  await store.ledger.sealed.write(async trx => {
    await dropGuards(trx)
    await change(trx, store)
  })
  await store.close()
}
