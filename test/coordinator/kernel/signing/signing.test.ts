import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSigner, generatePrivateKey, isSignedBy } from '../../../../shared/signing.ts'
import { SelfAnswer } from '../../../../shared/wire/cell-self.ts'
import { MAX_PACKET_BYTES } from '../../../../shared/wire/topics.ts'
import { followEndorsements, MAX_ENDORSEMENTS, TrustBody } from '../../../../shared/wire/trust.ts'
import { signingOf } from '../../../support/secrets.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

/** The signing key of the store in a folder, as one more coordinator opens it. */
const openIn = async (t: Pick<Test, 'teardown'>, folder: string) =>
  signingOf(await temporaryStore(t, folder), folder)

const openNew = async (t: Pick<Test, 'teardown'>) => openIn(t, await temporaryFolder(t))

t.test("the coordinator's signing key", async t => {
  t.test('is created once, readable only by its owner', async t => {
    const folder = await temporaryFolder(t)
    const [first, second] = await Promise.all([openIn(t, folder), openIn(t, folder)])
    t.equal(first.publicKey, second.publicKey)
    t.equal(statSync(join(folder, 'sealing.key')).mode & 0o777, 0o600)
  })

  t.test('remains valid for audit heads until it is invalidated, across restarts', async t => {
    const folder = await temporaryFolder(t)
    const signing = await openIn(t, folder)
    const first = signing.publicKey
    await signing.rotate()
    const second = signing.publicKey
    const before = await openIn(t, folder)
    t.strictSame([first, second].map(before.witnesses), [true, true])
    await before.rotate({ voidsHeads: true })
    const third = before.publicKey
    await before.rotate()
    const after = await openIn(t, folder)
    const keys = [
      first,
      second,
      third,
      after.publicKey,
      createSigner(generatePrivateKey()).publicKey,
    ]
    t.strictSame(keys.map(after.witnesses), [false, false, true, true, false])
    t.strictSame(keys.map(after.endorses), [true, true, true, true, false])
  })

  t.test('is unchanged when its rotation cannot be recorded', async t => {
    const signing = await openNew(t)
    const before = signing.publicKey
    const failEndorsement = () => Promise.reject(new Error('full'))
    await t.rejects(signing.rotate({ recordStep: failEndorsement }), { message: 'full' })
    t.equal(signing.publicKey, before)
  })

  t.test('that is damaged causes an error and is not replaced', async t => {
    for (const text of ['', '{}', '{"private_key":"x","endorsements":[]}']) {
      const folder = await temporaryFolder(t)
      writeFileSync(join(folder, 'signing.json'), text)
      await t.rejects(openIn(t, folder), { code: 'store_unavailable' })
      t.equal(readFileSync(join(folder, 'signing.json'), 'utf8'), text)
    }
  })

  t.test('can be followed over any number of rotations and a restart', async t => {
    const folder = await temporaryFolder(t)
    const signing = await openIn(t, folder)
    const keys = [signing.publicKey]
    for (let i = 0; i < 3; i++) keys.push((await signing.rotate()).signing_key)
    const again = await openIn(t, folder)
    t.equal(again.publicKey, keys.at(-1))
    t.ok(isSignedBy(again.publicKey, 'command', { x: 1 }, again.sign('command', { x: 1 })))
    for (const pinned of keys) t.equal(followEndorsements(pinned, again.trust()), again.publicKey)
  })

  t.test('that is rotated many times at once has one path from each to the last', async t => {
    const folder = await temporaryFolder(t)
    const signing = await openIn(t, folder)
    const first = signing.publicKey
    const changes = await Promise.all(Array.from({ length: 20 }, () => signing.rotate()))
    const keys = [first, ...changes.map(({ signing_key }) => signing_key)]
    t.equal(new Set(keys).size, 21)
    t.equal(signing.publicKey, keys.at(-1))
    t.equal((await openIn(t, folder)).publicKey, signing.publicKey)
    for (const key of keys) t.equal(followEndorsements(key, signing.trust(key)), signing.publicKey)
  })

  t.test('that could not be stored stays, and can be rotated later', async t => {
    const folder = await temporaryFolder(t)
    const store = await temporaryStore(t, folder)
    const signing = await signingOf(store, folder)
    const before = signing.publicKey
    store.ledger.freeze('in doubt')
    await t.rejects(signing.rotate())
    t.equal(signing.publicKey, before)
    store.ledger.unfreeze()
    const { signing_key } = await signing.rotate()
    t.equal((await openIn(t, folder)).publicKey, signing_key)
  })

  t.test('that was rotated 500 times is sent in short, or in full where needed', async t => {
    const signing = await openNew(t)
    const pinned = signing.publicKey
    await Promise.all(Array.from({ length: 500 }, () => signing.rotate()))
    const self = { cell_id: 'cell_x', name: 'n', tags: [], credential_at: 0, now: 0 }
    const answer = JSON.stringify(SelfAnswer.parse({ ...self, ...signing.trust() }))
    t.ok(Buffer.byteLength(answer) < 16 * 1024, `${answer.length} bytes`)
    const full = TrustBody.parse(signing.trust(pinned))
    t.equal(followEndorsements(pinned, full), signing.publicKey)
    const most = (JSON.stringify(full).length / 500) * MAX_ENDORSEMENTS
    t.ok(most < MAX_PACKET_BYTES - 1024, `${most} bytes`)
  })
})

t.test('an unproven change of the key is not trusted', async t => {
  const signing = await openNew(t)
  const pinned = signing.publicKey
  const trust = await signing.rotate()
  const stranger = createSigner(generatePrivateKey())
  const [endorsement] = trust.endorsements
  const forged = { key: stranger.publicKey, previous: pinned }
  for (const [what, body] of [
    ['without a signature', { ...trust, endorsements: [] }],
    ['to a key that nobody has vouched for', { ...trust, signing_key: stranger.publicKey }],
    [
      'signed by the new key itself',
      {
        signing_key: stranger.publicKey,
        endorsements: [{ ...forged, signature: stranger.sign('endorse', forged) }],
      },
    ],
    [
      'with the signature of another change',
      {
        signing_key: stranger.publicKey,
        endorsements: [{ ...forged, signature: endorsement?.signature ?? '' }],
      },
    ],
  ] as [string, TrustBody][])
    t.test(what, async t => {
      t.equal(followEndorsements(pinned, body), undefined)
    })
  t.test('back to the old key, for a cell that has seen the new one', async t => {
    t.equal(followEndorsements(trust.signing_key, { ...trust, signing_key: pinned }), undefined)
  })
})
