import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { loadBrokerKey } from '../../../../coordinator/fleet/broker/logins.ts'
import { sealText } from '../../../../coordinator/kernel/secrets/cipher.ts'
import { discardSecrets } from '../../../../coordinator/kernel/secrets/discard.ts'
import { addSealingKey, sealingKeyPath } from '../../../../coordinator/kernel/secrets/key-file.ts'
import { openSecrets } from '../../../../coordinator/kernel/secrets/open-secrets.ts'
import { publishKeys } from '../../../../coordinator/kernel/secrets/replica-keys.ts'
import { rotateSealingKey } from '../../../../coordinator/kernel/secrets/rotate.ts'
import { openSealing } from '../../../../coordinator/kernel/signing/sealing.ts'
import { openSigning } from '../../../../coordinator/kernel/signing/signing.ts'
import { createSigningText } from '../../../../coordinator/kernel/signing/signing-state.ts'
import { bumpRevision } from '../../../../coordinator/kernel/store/revisions.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { loadOwnCertificate } from '../../../../coordinator/kernel/tls/own-certificate.ts'
import { createSigner } from '../../../../shared/signing.ts'
import { silent } from '../../../support/cell.ts'
import { memorySecrets, secretsOf } from '../../../support/secrets.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

type Teardown = Pick<Test, 'teardown'>

/** The secrets as one more coordinator opens them, with a state folder of its own. */
const joinStore = async (t: Teardown, shared: string, sealingKey?: string) => {
  const stateDir = await temporaryFolder(t)
  if (sealingKey !== undefined) writeFileSync(sealingKeyPath(stateDir), sealingKey)
  const store = await temporaryStore(t, shared)
  const { secrets, ring } = await openSecrets({ store, stateDir, logger: silent })
  const [signing, sealing] = [await openSigning(secrets), await openSealing(secrets)]
  const keyFile = sealingKeyPath(stateDir)
  return { store, stateDir, secrets, ring, signing, sealing, keyFile }
}

const readKey = (path: string): string => readFileSync(path, 'utf8')

/** The files of a version that kept its secrets in the state folder. */
const writeOldFolder = async (t: Teardown, stateDir: string) => {
  mkdirSync(join(stateDir, 'tls'), { recursive: true })
  const signingText = createSigningText()
  const [sealingKey, brokerKey] = [randomBytes(32), randomBytes(32)]
  const secrets = memorySecrets()
  const other = await temporaryFolder(t)
  const { fingerprint } = await loadOwnCertificate({ stateDir: other, secrets }, ['localhost'])
  const authority = await secrets.ensure('authority', () => '')
  writeFileSync(join(stateDir, 'signing.json'), signingText)
  writeFileSync(join(stateDir, 'sealing.key'), `${sealingKey.toString('base64')}\n`)
  writeFileSync(join(stateDir, 'broker.key'), brokerKey)
  writeFileSync(join(stateDir, 'tls', 'authority.pem'), authority)
  const { publicKey } = createSigner(JSON.parse(signingText).private_key)
  return { sealingKey, brokerKey, fingerprint, publicKey }
}

t.test('a state folder of an earlier version', async t => {
  t.test('is taken over into the store, and keeps the sealing key alone', async t => {
    const stateDir = await temporaryFolder(t)
    const old = await writeOldFolder(t, stateDir)
    const webhook = sealText(old.sealingKey, 'a secret', 'wh_1')
    const store = await temporaryStore(t)
    const secrets = await secretsOf(store, stateDir)
    t.equal((await openSigning(secrets)).publicKey, old.publicKey)
    t.strictSame(await loadBrokerKey(secrets), old.brokerKey)
    const { fingerprint } = await loadOwnCertificate({ stateDir, secrets }, ['localhost'])
    t.equal(fingerprint, old.fingerprint)
    t.equal((await openSealing(secrets)).open(webhook, 'wh_1'), 'a secret')
    for (const name of ['signing.json', 'broker.key', 'tls/authority.pem'])
      t.notOk(existsSync(join(stateDir, name)), name)
    t.ok(existsSync(join(stateDir, 'sealing.key')))
  })

  t.test('is finished by the next start when the first one stopped after the commit', async t => {
    const [stateDir, shared] = [await temporaryFolder(t), await temporaryFolder(t)]
    const old = await writeOldFolder(t, stateDir)
    const copies = ['signing.json', 'broker.key'].map(name => {
      const path = join(stateDir, name)
      return [path, readFileSync(path)] as const
    })
    await secretsOf(await temporaryStore(t, shared), stateDir)
    for (const [path, bytes] of copies) writeFileSync(path, bytes)
    const again = await secretsOf(await temporaryStore(t, shared), stateDir)
    t.equal((await openSigning(again)).publicKey, old.publicKey)
    t.strictSame(
      copies.map(([path]) => existsSync(path)),
      [false, false],
    )
    const path = join(stateDir, 'signing.json')
    writeFileSync(path, createSigningText())
    await secretsOf(await temporaryStore(t, shared), stateDir)
    t.ok(existsSync(path), 'another key is not removed')
  })

  t.test('with a damaged file leaves the store without secrets', async t => {
    const stateDir = await temporaryFolder(t)
    await writeOldFolder(t, stateDir)
    writeFileSync(join(stateDir, 'broker.key'), 'short')
    const store = await temporaryStore(t)
    await t.rejects(secretsOf(store, stateDir), {
      code: 'store_unavailable',
      message: /broker.key/,
    })
    t.strictSame(await store.ledger.read.selectFrom('secrets').selectAll().execute(), [])
    t.ok(existsSync(join(stateDir, 'signing.json')))
  })
})

t.test('coordinators of one store', async t => {
  t.test('share the signing key and the authority, and see a rotation by another', async t => {
    const shared = await temporaryFolder(t)
    const a = await joinStore(t, shared)
    const b = await joinStore(t, shared, readKey(a.keyFile))
    t.equal(a.signing.publicKey, b.signing.publicKey)
    const identities = [a, b].map(each => loadOwnCertificate(each, ['localhost']))
    const [first, second] = await Promise.all(identities)
    t.equal(first?.fingerprint, second?.fingerprint)
    t.not(first?.cert, second?.cert, 'each has a certificate of its own')

    const before = b.signing.publicKey
    const seen: boolean[] = []
    b.signing.onChange(isOwn => void seen.push(isOwn))
    await a.signing.rotate()
    t.equal(await b.store.ledger.sealed.write(b.signing.isCurrent), false)
    b.store.revisions.onChange('secrets', () => void b.secrets.refresh())
    await b.store.revisions.poll()
    await b.secrets.refresh()
    t.equal(b.signing.publicKey, a.signing.publicKey)
    t.strictSame(seen, [false])
    t.ok(b.signing.endorses(before))
    t.ok(await b.store.ledger.sealed.write(b.signing.isCurrent))
  })

  t.test('rotate the signing key at once without losing a step', async t => {
    const shared = await temporaryFolder(t)
    const a = await joinStore(t, shared)
    const b = await joinStore(t, shared, readKey(a.keyFile))
    const first = a.signing.publicKey
    await Promise.all([a, b, a, b, a, b].map(({ signing }) => signing.rotate()))
    await Promise.all([a.secrets.refresh(), b.secrets.refresh()])
    t.equal(a.signing.publicKey, b.signing.publicKey)
    t.equal(a.signing.trust(first).endorsements.length, 6)
    t.ok(a.signing.endorses(first))
  })

  t.test('do not start with another sealing key, or without one', async t => {
    const shared = await temporaryFolder(t)
    await joinStore(t, shared)
    const another = `${randomBytes(32).toString('base64')}\n`
    const remedy = /copy sealing\.key from the state folder of a coordinator that uses this store/
    for (const key of [undefined, another])
      await t.rejects(joinStore(t, shared, key), { code: 'config_invalid', message: remedy })
    await t.rejects(joinStore(t, shared, 'rubbish\n'), {
      code: 'config_invalid',
      message: /damaged/,
    })
  })

  t.test('agree on one set of secrets when they start for the first time at once', async t => {
    for (let round = 0; round < 5; round++) {
      const shared = await temporaryFolder(t)
      const starts = await Promise.allSettled([joinStore(t, shared), joinStore(t, shared)])
      const failed = starts.filter(start => start.status === 'rejected')
      t.match(failed, [{ reason: { code: 'config_invalid' } }])
      t.equal(failed.length, 1)
    }
  })

  t.test('put a newer signing key back into a database that was set back', async t => {
    const shared = await temporaryFolder(t)
    const { store, secrets, signing, keyFile } = await joinStore(t, shared)
    const before = await store.ledger.read.selectFrom('secrets').selectAll().execute()
    const { signing_key } = await signing.rotate()
    await store.ledger.sealed.write(async trx => {
      for (const row of before)
        await trx.updateTable('secrets').set(row).where('name', '=', row.name).execute()
      await bumpRevision(trx, 'secrets')
    })
    await secrets.refresh()
    t.equal(signing.publicKey, signing_key)
    t.equal((await joinStore(t, shared, readKey(keyFile))).signing.publicKey, signing_key)
  })
})

t.test('a sealing key that other users can read is reported', async t => {
  const stateDir = await temporaryFolder(t)
  const store = await temporaryStore(t, stateDir)
  const warnings: string[] = []
  const logger = { info: () => {}, warn: (_: unknown, text: string) => warnings.push(text) }
  await openSecrets({ store, stateDir, logger: logger as never })
  t.strictSame(warnings, [])
  chmodSync(sealingKeyPath(stateDir), 0o640)
  await openSecrets({ store, stateDir, logger: logger as never })
  t.match(warnings, [/^other users can read sealing\.key/])
})

/** Rows of live coordinators, as the registry writes them. */
const register = (store: Store, ids: readonly string[]): Promise<unknown> =>
  store.ledger.sealed.write(async trx => {
    const now = await store.ledger.nowMs(trx)
    const times = { started_at: now, until: now + 60_000 }
    const row = { address: null, version: '1', unconnected_json: '[]', has_cells: 0, ...times }
    const rows = ids.map(id => ({ id, ...row }))
    await trx.insertInto('replicas').values(rows).execute()
  })

t.test('the sealing key is rotated while coordinators serve', async t => {
  const shared = await temporaryFolder(t)
  const a = await joinStore(t, shared)
  const b = await joinStore(t, shared, readKey(a.keyFile))
  const old = b.sealing.seal('kept before', 'x')
  await register(a.store, ['rep_a', 'rep_b'])
  const publish = (id: string, { store, ring }: typeof a) => publishKeys(store.ledger, id, ring.ids)
  await Promise.all([publish('rep_a', a), publish('rep_b', b)])
  const announced: string[] = []
  const rotate = () =>
    rotateSealingKey({
      ...a,
      ledger: a.store.ledger,
      record: async () => {},
      // meanwhile the other coordinator has read what was announced, and nothing uses it
      wait: async () => {
        await b.secrets.refresh()
        announced.push(a.sealing.seal('announced', 'x'), b.sealing.seal('announced', 'x'))
      },
    })
  await t.rejects(rotate(), { code: 'conflict', message: /secrets add-key/ })

  await addSealingKey(a.keyFile)
  await a.ring.reread()
  await publish('rep_a', a)
  await a.signing.rotate()
  await b.secrets.refresh()
  t.equal(b.signing.publicKey, a.signing.publicKey, 'the new key is not used before its time')
  await t.rejects(rotate(), { code: 'conflict', message: /do not have the key \w+ yet: rep_b;/ })

  copyFileSync(a.keyFile, b.keyFile)
  await b.ring.reread()
  await publish('rep_b', b)
  const rotation = await rotate()
  t.strictSame([rotation.sealing_key, rotation.replaces], a.ring.ids)
  const after = a.sealing.seal('kept after', 'x')
  await b.secrets.refresh()
  const [newest = ''] = readKey(a.keyFile).split('\n')
  const c = await joinStore(t, shared, `${newest}\n`)
  for (const { sealing, signing } of [a, b, c]) {
    const texts = [old, after, ...announced].map(sealed => sealing.open(sealed, 'x'))
    t.strictSame(texts, ['kept before', 'kept after', 'announced', 'announced'])
    t.equal(signing.publicKey, a.signing.publicKey)
  }
  const { ids } = b.ring
  const oldest = readKey(b.keyFile).split('\n').slice(1).join('\n')
  await t.rejects(joinStore(t, shared, oldest), { code: 'config_invalid' }, `${ids[1]} is over`)
})

t.test('no secret can be read in a copy of the database', async t => {
  const shared = await temporaryFolder(t)
  const { store, stateDir, secrets, keyFile } = await joinStore(t, shared)
  await loadOwnCertificate({ stateDir, secrets }, ['localhost'])
  await loadBrokerKey(secrets)
  const bodyOf = (pem: string) => pem.split('\n').filter(line => /^[\w+/=]{20,}$/.test(line))
  const hidden = [
    ...bodyOf(JSON.parse(secrets.get('signing') ?? '').private_key),
    ...bodyOf((secrets.get('authority') ?? '').split('-----END')[0] ?? ''),
    secrets.get('broker') ?? '',
    ...JSON.parse(secrets.get('data-keys') ?? '').keys,
    readKey(keyFile).trim(),
  ]
  t.ok(hidden.length >= 6 && hidden.every(text => text.length > 20))
  const dump = await dumpLedger(store)
  t.match(dump, '"authority"')
  for (const text of hidden) {
    t.notOk(dump.includes(text))
    t.notOk(dump.includes(Buffer.from(text, 'base64').toString('hex')))
  }
  t.strictSame(readdirSync(stateDir).toSorted(), ['sealing.key', 'tls'])
})

/** Every row of every table of the ledger, as text. */
const dumpLedger = async ({ ledger }: Store): Promise<string> => {
  const db = ledger.read as unknown as Kysely<Record<string, object>>
  const tables = await db.introspection.getTables()
  const rows = await Promise.all(
    tables.map(({ name }) => db.selectFrom(name).selectAll().execute()),
  )
  return JSON.stringify(rows)
}

t.test('a lost sealing key can be given up, after which everything starts anew', async t => {
  const shared = await temporaryFolder(t)
  const { store, ring, signing, keyFile } = await joinStore(t, shared)
  const discard = (ids: string[]) => discardSecrets(store.ledger, ids, async () => {})
  await t.rejects(discard(ring.ids), { code: 'conflict' })
  rmSync(keyFile)
  t.equal(await discard([]), 2)
  t.not((await joinStore(t, shared)).signing.publicKey, signing.publicKey)
})
