import t, { type Test } from 'tap'
import { acceptAudit } from '../../../../coordinator/kernel/audit/accept.ts'
import { openSigning } from '../../../../coordinator/kernel/signing/signing.ts'
import { restartSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import { secretsOf, signingOf } from '../../../support/secrets.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder, temporaryStore } from '../store/temporary.ts'
import { append, startGuard, tamper } from './guarding.ts'

/** A guard of one more coordinator on the store; its secrets are read again on demand. */
const guardIn = async (t: Pick<Test, 'teardown'>, shared: string, stateDir: string) => {
  const store = await temporaryStore(t, shared)
  const secrets = await secretsOf(store, stateDir)
  const watched = startGuard(store, stateDir, await openSigning(secrets))
  t.teardown(watched.stop)
  await watched.guard.checked
  return { store, secrets, ...watched }
}

/** Accepts the audit as a command does beside the coordinators. */
const accept = async (t: Pick<Test, 'teardown'>, shared: string, stateDir: string) => {
  const store = await temporaryStore(t, shared)
  await acceptAudit(store.ledger, await signingOf(store, stateDir), 'looked into it', BY)
}

t.test('an audit in doubt stops every coordinator, and one acceptance frees all', async t => {
  const [shared, stateDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  const a = await guardIn(t, shared, stateDir)
  const b = await guardIn(t, shared, stateDir)
  await append(a.store, 3)
  a.guard.suspect('something')
  await waitUntil('the fault is stored', () => a.events.length > 0)
  await t.rejects(append(b.store, 1), { code: 'audit_broken' })
  await b.store.revisions.poll()
  await waitUntil('the other coordinator follows', () => b.guard.trouble() === 'something')
  t.strictSame([a.events, b.events], [['shoal.audit.broken'], []], 'it is reported once')

  await accept(t, shared, stateDir)
  for (const { store, guard, secrets } of [a, b]) {
    await store.revisions.poll()
    await secrets.refresh()
    await waitUntil('the coordinator goes on', () => guard.trouble() === undefined)
    await append(store, 1)
  }
})

t.test('a fault that was found by an outdated key is dropped', async t => {
  const [shared, stateDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  const { store, guard, secrets, events } = await guardIn(t, shared, stateDir)
  await append(store, 3)
  await accept(t, shared, stateDir)
  guard.suspect('row 9 was seen and is gone')
  await waitUntil('it is dropped', () => guard.trouble() === undefined)
  await append(store, 1)
  t.strictSame(events, [])
  await secrets.refresh()
  guard.suspect('row 1 was changed')
  await waitUntil('this one counts', () => events.includes('shoal.audit.broken'))
  await t.rejects(append(store, 1), { code: 'audit_broken' })
})

t.test('a store that was set back to before its signing key is found by the kept head', async t => {
  const [shared, stateDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  const first = await guardIn(t, shared, stateDir)
  await append(first.store, 5)
  const before = await first.store.ledger.read.selectFrom('secrets').selectAll().execute()
  const signing = await signingOf(first.store, stateDir)
  await signing.rotate()
  await first.secrets.refresh()
  await append(first.store, 5)
  await first.stop()

  await tamper(shared, async trx => {
    await trx.deleteFrom('audit').where('seq', '>', 5).execute()
    await restartSequence(trx, 'audit', 5)
    for (const row of before)
      await trx.updateTable('secrets').set(row).where('name', '=', row.name).execute()
  })
  const frozen = await guardIn(t, shared, stateDir)
  t.match(frozen.guard.trouble(), /row 10 was seen and is gone/)
  await accept(t, shared, stateDir)
  const accepted = await guardIn(t, shared, stateDir)
  t.equal(accepted.guard.trouble(), undefined)
})
