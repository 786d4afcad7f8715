import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { acceptAudit } from '../../../../coordinator/kernel/audit/accept.ts'
import { appendAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { rowHash } from '../../../../coordinator/kernel/audit/chain.ts'
import { signCheckpoint } from '../../../../coordinator/kernel/audit/checkpoint.ts'
import { AuditGuard } from '../../../../coordinator/kernel/audit/guard.ts'
import { purgeAudit } from '../../../../coordinator/kernel/audit/purge.ts'
import { verifyAudit, verifyOnce } from '../../../../coordinator/kernel/audit/verify.ts'
import { restartSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { createSigner, generatePrivateKey, type Signer } from '../../../../shared/signing.ts'
import { silent } from '../../../support/cell.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { signingOf } from '../../../support/secrets.ts'
import { notInFiles, temporaryFolder, testStore } from '../store/temporary.ts'
import { append, dropGuards, reopenSigned, reopenStore, signer, startGuard } from './guarding.ts'

/** A store with rows whose head was signed, closed as a crash leaves it or in order. */
const witnessedStore = async (t: Pick<Test, 'teardown'>) => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  await append(store, 20)
  const { signed, stop } = startGuard(store, folder)
  const head = await signed
  await stop()
  return { folder, store, head }
}

const ledger = (folder: string) => join(folder, 'ledger.db')

/** Puts other bytes where a text stands in a file. */
const flip = (path: string, text: string): boolean => {
  const bytes = readFileSync(path)
  const at = bytes.lastIndexOf(text)
  if (at === -1) return false
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path, bytes)
  return true
}

const cutOff = (path: string): boolean => {
  truncateSync(path, 4096)
  return true
}

const rewrite = async (folder: string, change: (store: Store) => Promise<void>): Promise<void> => {
  const store = await testStore(folder)
  await store.ledger.sealed.write(trx => dropGuards(trx))
  await change(store)
  await store.close()
}

const deleteFrom = (seq: number) => (store: Store) =>
  store.ledger.sealed.write(async trx => {
    await trx.deleteFrom('audit').where('seq', '>=', seq).execute()
  })

/** Every row anew, each with its right hash: the chain alone finds nothing. */
const forgeAll = async (store: Store): Promise<void> => {
  const rows = await store.ledger.read.selectFrom('audit').selectAll().orderBy('seq').execute()
  await store.ledger.sealed.write(async trx => {
    let prev = '0'.repeat(64)
    for (const row of rows) {
      const forged = { ...row, actor: 'nobody', prev }
      prev = rowHash(forged)
      await trx
        .updateTable('audit')
        .set({ ...forged, hash: prev })
        .where('seq', '=', row.seq)
        .execute()
    }
  })
}

/** Rows up to the tenth gone, and a checkpoint of somebody's in their place. */
const forgePurge = async (store: Store, own: Signer): Promise<void> => {
  const tenth = await rowAt(store, 10)
  const checkpoint = signCheckpoint(
    {
      seq: 10,
      hash: tenth?.hash ?? '',
      rows: 10,
      first_at: 1,
      last_at: 5,
      retention_days: 400,
      made_at: 1000,
    },
    own,
  )
  await store.ledger.sealed.write(async trx => {
    await trx
      .insertInto('audit_checkpoint')
      .values({ id: 1, ...checkpoint })
      .execute()
    await trx.deleteFrom('audit').where('seq', '<=', 10).execute()
    const told = { actor: 'coordinator', at: Date.now(), action: 'audit.purge', subject: 'audit' }
    await appendAudit(trx, { ...told, outcome: 'done', details: { ...checkpoint } })
  })
}

const rowAt = ({ ledger }: Store, seq: number) =>
  ledger.read.selectFrom('audit').selectAll().where('seq', '=', seq).executeTakeFirst()

/** A purge of ours, up to the tenth row. */
const purgeTen = (store: Store): Promise<number> =>
  purgeAudit(
    {
      ledger: store.ledger,
      signer,
      retentionDays: 400,
      now: () => 1000,
      suspect: () => {},
      signal: new AbortController().signal,
    },
    6,
  )

const moveFurther = async (store: Store): Promise<void> => {
  await purgeTen(store)
  const { hash = '' } = (await rowAt(store, 12)) ?? {}
  await store.ledger.sealed.write(async trx => {
    await trx.updateTable('audit_checkpoint').set({ seq: 12, rows: 12, hash }).execute()
    await trx.deleteFrom('audit').where('seq', '<=', 12).execute()
  })
}

/** Ways for somebody who has the file of a database. */
const WITH_FILES = ['a flipped byte in the database', 'an older copy of the file put back']

t.test('the next start finds each of eleven ways to tamper with the audit', async t => {
  const ways: [what: string, tamper: (folder: string, backup: string) => Promise<void> | void][] = [
    ['a flipped byte in the database', folder => void t.ok(flip(ledger(folder), 'test.run'))],
    [
      'a deleted row',
      folder =>
        rewrite(folder, store =>
          store.ledger.sealed.write(async trx => {
            await trx.deleteFrom('audit').where('seq', '=', 7).execute()
          }),
        ),
    ],
    ['the end cut off', folder => rewrite(folder, deleteFrom(15))],
    [
      'the end cut off and grown again',
      folder =>
        rewrite(folder, async store => {
          await deleteFrom(15)(store)
          await store.ledger.sealed.write(trx => restartSequence(trx, 'audit', 14))
          await append(store, 30, 'other')
        }),
    ],
    ['every row forged anew', folder => rewrite(folder, forgeAll)],
    [
      'the beginning deleted',
      folder =>
        rewrite(folder, store =>
          store.ledger.sealed.write(async trx => {
            await trx.deleteFrom('audit').where('seq', '<=', 10).execute()
          }),
        ),
    ],
    [
      'the beginning deleted, with a checkpoint that we have not signed',
      folder => rewrite(folder, store => forgePurge(store, loneSigner())),
    ],
    ['the checkpoint of a purge moved further', folder => rewrite(folder, moveFurther)],
    [
      'an older copy of the file put back',
      (folder, backup) => {
        for (const end of ['-wal', '-shm']) rmSync(ledger(folder) + end, { force: true })
        copyFileSync(backup, ledger(folder))
      },
    ],
  ]
  for (const [what, tamper] of ways)
    await t.test(what, { skip: WITH_FILES.includes(what) && notInFiles }, async t => {
      const folder = await temporaryFolder(t)
      const first = await testStore(folder)
      await append(first, 5)
      await first.close()
      const backup = join(folder, 'backup.db')
      if (!notInFiles) copyFileSync(ledger(folder), backup)
      const second = await testStore(folder)
      await append(second, 15)
      const { signed, stop } = startGuard(second, folder)
      await signed
      await stop()
      await second.close()

      await tamper(folder, backup)
      const { store, guard, events } = await reopenStore(folder)
      t.match(guard.trouble(), /.+/)
      t.strictSame(events, ['shoal.audit.broken'])
      await t.rejects(append(store, 1), { code: 'audit_broken', message: /tampered/ })
      const other = await testStore(folder)
      await t.rejects(append(other, 1), { code: 'audit_broken' }, 'nor by another process')
      await other.close()
      t.equal(
        (await store.ledger.read.selectFrom('audit').select('seq').limit(1).execute()).length,
        1,
      )
      await store.close()
    })

  for (const [what, tamper] of [
    ['a flipped byte in the write-ahead log', (path: string) => flip(path, 'test.run')],
    ['the write-ahead log cut off', cutOff],
  ] as const)
    await t.test(what, { skip: notInFiles }, async t => {
      const { folder, store } = await witnessedStore(t)
      // as after kill -9: the log is still there
      const crashed = await temporaryFolder(t)
      for (const end of ['', '-wal']) copyFileSync(ledger(folder) + end, ledger(crashed) + end)
      copyFileSync(join(folder, 'audit-head.json'), join(crashed, 'audit-head.json'))
      await store.close()
      t.ok(existsSync(`${ledger(crashed)}-wal`))
      t.ok(tamper(`${ledger(crashed)}-wal`))
      const { guard, store: after } = await reopenStore(crashed)
      t.match(guard.trouble(), /.+/)
      await after.close()
    })
})

t.test('a regular purge is not reported as tampering', async t => {
  const { folder, store, head } = await witnessedStore(t)
  t.equal(await purgeTen(store), 5)
  await store.close()
  const again = await reopenStore(folder)
  t.equal(again.guard.trouble(), undefined)
  await again.guard.compareHead(head, 'cell_1')
  t.equal(again.guard.trouble(), undefined)
  await again.store.close()
})

t.test('an unmodified audit raises no alarm', async t => {
  const { folder, store, head } = await witnessedStore(t)
  await append(store, 3)
  await store.close()
  const again = await reopenStore(folder)
  t.equal(again.guard.trouble(), undefined)
  await again.guard.compareHead(head, 'cell_1')
  t.equal(again.guard.trouble(), undefined)
  await append(again.store, 1)
  await again.store.close()
})

t.test('a cell that witnessed a newer head raises the alarm; a forged head does not', async t => {
  const { folder, store, head } = await witnessedStore(t)
  const { guard, signed, stop } = startGuard(store, folder)
  // a round under way would find the cut itself, and first
  await signed
  const other = createSigner(generatePrivateKey())
  await guard.compareHead({ ...head, seq: 999 }, 'cell_1')
  await guard.compareHead({ ...head, seq: 999, key_id: other.publicKey }, 'cell_1')
  t.equal(guard.trouble(), undefined)
  await rewriteInPlace(store)
  await guard.compareHead(head, 'cell_1')
  t.match(guard.trouble(), /row 20 was seen and is gone.*cell_1/)
  await stop()
  await store.close()
})

const rewriteInPlace = async (store: Store): Promise<void> => {
  await store.ledger.sealed.write(async trx => {
    await dropGuards(trx, ['delete'])
    await trx.deleteFrom('audit').where('seq', '>', 10).execute()
  })
}

t.test('an operator can accept a restored backup with a reason', async t => {
  const folder = await temporaryFolder(t)
  const first = await testStore(folder)
  await append(first, 20)
  const { signed, stop } = startGuard(first, folder, await signingOf(first, folder))
  const head = await signed
  await stop()
  await first.close()
  await rewrite(folder, deleteFrom(15))

  const frozen = await reopenSigned(folder)
  t.match(frozen.guard.trouble(), /row 20/)
  await frozen.store.close()

  const store = await testStore(folder)
  const signing = await signingOf(store, folder)
  const by = { actor: 'local:ada' }
  const accept = (reason: string) => acceptAudit(store.ledger, signing, reason, by)
  await t.rejects(accept(' '), { code: 'invalid_request', param: 'reason' })
  const accepted = await accept('the disk failed')
  t.match(accepted, { rows: 14, signing_key: signing.publicKey })
  t.not(signing.publicKey, head.key_id)
  await store.close()

  const after = await reopenSigned(folder)
  t.equal(after.guard.trouble(), undefined)
  await after.guard.compareHead(head, 'cell_1')
  t.equal(after.guard.trouble(), undefined, 'what a cell has kept is void')
  await append(after.store, 1)
  const rows = await after.store.ledger.read.selectFrom('audit').selectAll().execute()
  const row = rows.find(({ action }) => action === 'audit.accept')
  t.match(row, { actor: 'local:ada', details_json: /the disk failed/ })
  await after.store.close()
})

t.test('a signing key lost after a purge can be accepted by its fingerprint', async t => {
  const folder = await temporaryFolder(t)
  const lost = loneSigner()
  const first = await testStore(folder)
  await append(first, 20)
  const old = { retentionDays: 400, now: () => Date.now(), suspect: () => {} }
  const { signal } = new AbortController()
  await purgeAudit({ ledger: first.ledger, signer: lost, signal, ...old }, Date.now() + 1000)
  await append(first, 3)
  await first.close()

  const frozen = await reopenSigned(folder)
  t.match(frozen.guard.trouble(), /no purge of ours/)
  await frozen.store.close()

  const store = await testStore(folder)
  const signing = await signingOf(store, folder)
  const accept = (key?: string) =>
    acceptAudit(store.ledger, signing, 'the disk failed', { actor: 'local:ada' }, key)
  await t.rejects(accept(), { code: 'audit_broken' })
  await t.rejects(accept(loneSigner().publicKey), { code: 'invalid_request', param: 'lost_key' })
  await t.rejects(append(store, 1), { code: 'audit_broken' }, 'nothing has changed')
  await accept(lost.publicKey)
  await t.rejects(accept(lost.publicKey), { code: 'conflict' }, 'it is needed once')
  await signing.rotate()
  await store.close()
  t.ok(signing.endorses(lost.publicKey), 'for what it has purged')
  t.notOk(signing.witnesses(lost.publicKey), 'its heads count for nothing')
  t.notOk(signing.trust().endorsements.some(({ previous }) => previous === lost.publicKey))

  const after = await reopenSigned(folder)
  t.equal(after.guard.trouble(), undefined)
  await append(after.store, 1)
  const rows = await after.store.ledger.read.selectFrom('audit').selectAll().execute()
  const row = rows.find(({ action }) => action === 'audit.accept')
  t.match(row, { actor: 'local:ada', details_json: new RegExp(`"lost_key":"${lost.publicKey}"`) })
  t.match(await verifyAudit(after.store.ledger, { endorses: () => false }), { ok: false })
  await after.store.close()
})

t.test('a finding stays open until an operator accepts it', async t => {
  const folder = await temporaryFolder(t)
  const first = await reopenSigned(folder)
  await append(first.store, 3)
  first.guard.suspect('something')
  await first.store.close()

  const again = await reopenSigned(folder)
  t.equal(again.guard.trouble(), 'something', 'also when the chain looks whole')
  await t.rejects(append(again.store, 1), { code: 'audit_broken' })
  const { endorses } = await signingOf(again.store, folder)
  t.match(await verifyOnce(again.store.ledger, endorses), { ok: false, reason: 'something' })
  await again.store.close()

  const store = await testStore(folder)
  const signing = await signingOf(store, folder)
  await acceptAudit(store.ledger, signing, 'looked into it', { actor: 'local:ada' })
  t.match(await verifyOnce(store.ledger, endorses), { ok: true })
  await append(store, 1)
  await store.close()
  const after = await reopenSigned(folder)
  t.equal(after.guard.trouble(), undefined)
  await after.store.close()
})

t.test('a new signing key does not invalidate earlier witness heads', async t => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  const signing = await signingOf(store, folder)
  await append(store, 20)
  const { signed, stop } = startGuard(store, folder, signing)
  const head = await signed
  await stop()
  await signing.rotate()
  await store.close()
  await rewrite(folder, deleteFrom(15))
  const byFile = await reopenSigned(folder)
  t.match(byFile.guard.trouble(), /row 20/, 'the file tells')
  await byFile.store.close()

  const elsewhere = await temporaryFolder(t)
  const copy = await testStore(elsewhere)
  await append(copy, 14)
  const { guard, stop: end } = startGuard(copy, elsewhere, {
    ...signing,
    isCurrent: async () => true,
  })
  await guard.checked
  await guard.compareHead(head, 'cell_1')
  await end()
  t.match(guard.trouble(), /row 20.*cell_1/, 'and so does a cell')
  await copy.close()
})

t.test('a chain that is broken in itself cannot be accepted', async t => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  await append(store, 20)
  await store.close()
  await rewrite(folder, changed =>
    changed.ledger.sealed.write(async trx => {
      await trx.deleteFrom('audit').where('seq', '=', 7).execute()
    }),
  )
  const broken = await testStore(folder)
  const signing = await signingOf(broken, folder)
  const before = signing.publicKey
  await t.rejects(acceptAudit(broken.ledger, signing, 'why not', { actor: 'a' }), {
    code: 'audit_broken',
  })
  t.equal(signing.publicKey, before)
  await broken.close()
})

t.test('a running coordinator notices rows removed from its own audit', async t => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  await append(store, 20)
  const stop = new AbortController()
  let look = (): void => {}
  let heads = 0
  const broken = new Promise<void>(resolve => {
    AuditGuard.start({
      ledger: store.ledger,
      revisions: store.revisions,
      isReporter: () => true,
      signer,
      stateDir: folder,
      logger: silent,
      signal: stop.signal,
      broadcast: () => {
        heads++
      },
      events: { publish: () => resolve(), addWithin: async () => resolve() },
      now: () => 1000,
      wait: () =>
        new Promise(resolve => {
          look = resolve
          onWait()
        }),
    })
  })
  let onWait = (): void => {}
  await new Promise<void>(resolve => {
    onWait = resolve
  })
  t.equal(heads, 1)
  await rewriteInPlace(store)
  look()
  await broken
  t.equal(heads, 1, 'the shorter chain was not signed')
  t.match(readFileSync(join(folder, 'audit-head.json'), 'utf8'), /"seq":20/)
  stop.abort()
  await store.close()
})
