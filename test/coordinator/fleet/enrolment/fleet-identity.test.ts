import t from 'tap'
import { createFleetIdentity } from '../../../../coordinator/fleet/enrolment/fleet-identity.ts'
import { openSigning } from '../../../../coordinator/kernel/signing/signing.ts'
import { isSignedBy } from '../../../../shared/signing.ts'
import { ENDORSE_PURPOSE } from '../../../../shared/wire/trust.ts'
import { silent } from '../../../support/cell.ts'
import { secretsOf, signingOf } from '../../../support/secrets.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

t.test('the signing key is not replaced while the audit is suspect', async t => {
  const store = await temporaryStore(t)
  const signing = await signingOf(store, await temporaryFolder(t))
  const identity = createFleetIdentity({
    signing,
    store,
    logger: silent,
    now: Date.now,
    fingerprint: () => undefined,
    bus: { publish: async () => {} },
    fleet: { cells: () => [].values() },
  } as never)
  const first = signing.publicKey
  t.not((await identity.rotateKey({ actor: 'key:a' })).signing_key, first)
  const row = (await auditRows(store)).at(-1)
  t.match(row, { action: 'signing_key.rotate', actor: 'key:a' })
  const { replaces, key, signature } = JSON.parse(row?.details_json ?? '{}')
  t.strictSame([replaces, key], [first, signing.publicKey])
  const step = { key, previous: first }
  t.ok(isSignedBy(first, ENDORSE_PURPOSE, step, signature), 'the old key has signed what it says')

  const second = signing.publicKey
  store.ledger.freeze('in doubt')
  await t.rejects(identity.rotateKey({ actor: 'key:a' }), { code: 'audit_broken' })
  t.equal(signing.publicKey, second)
})

t.test('a day is too short for enough new keys to push out the old ones', async t => {
  let nowMs = 0
  const store = await temporaryStore(t, undefined, { now: () => nowMs })
  const signing = await signingOf(store, await temporaryFolder(t))
  const identity = createFleetIdentity({
    signing,
    store,
    logger: silent,
    now: Date.now,
    fingerprint: () => undefined,
    bus: { publish: async () => {} },
    fleet: { cells: () => [].values() },
  } as never)
  const by = { actor: 'key:a' }
  const rotations = await Promise.allSettled(
    Array.from({ length: 30 }, () => identity.rotateKey(by)),
  )
  t.equal(rotations.filter(({ status }) => status === 'fulfilled').length, 24)
  await t.rejects(identity.rotateKey(by), { code: 'rate_limited', retryAfterSeconds: 86_400 })
  nowMs = 86_400_000
  await identity.rotateKey(by)
})

t.test('cells are told a new key; a rotation elsewhere also asks them for a birth', async t => {
  const [shared, stateDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  const open = async () => {
    const store = await temporaryStore(t, shared)
    const secrets = await secretsOf(store, stateDir)
    const signing = await openSigning(secrets)
    const published: string[] = []
    const cell = { id: 'cell_a', announce: { coordinator_key: signing.publicKey } }
    const identity = createFleetIdentity({
      signing,
      store,
      logger: silent,
      now: Date.now,
      fingerprint: () => undefined,
      bus: { publish: async (name: string) => void published.push(name) },
      fleet: { cells: () => [cell].values() },
    } as never)
    return { secrets, signing, published, identity }
  }
  const [here, elsewhere] = [await open(), await open()]
  const { signing_key } = await here.identity.rotateKey({ actor: 'key:a' })
  await elsewhere.secrets.refresh()
  t.equal(elsewhere.signing.publicKey, signing_key)
  t.strictSame(here.published, ['trust'])
  t.strictSame(elsewhere.published, ['trust', 'rebirth'])
})
