import t from 'tap'
import { createFleetIdentity } from '../../../coordinator/enrolment/fleet-identity.ts'
import { isSignedBy } from '../../../shared/signing.ts'
import { ENDORSE_PURPOSE } from '../../../shared/wire/trust.ts'
import { silent } from '../../support/cell.ts'
import { signingOf } from '../../support/secrets.ts'
import { auditRows } from '../keys/fixtures.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

t.test('the signing key is not replaced while the audit is suspect', async t => {
  const store = await temporaryStore(t)
  const signing = await signingOf(store, await temporaryFolder(t))
  const identity = createFleetIdentity({
    signing,
    store,
    logger: silent,
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
