import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSigning } from '../../../coordinator/keys/signing.ts'
import { isSignedBy, newPrivateKey, signerOf } from '../../../shared/signing.ts'
import { followedKey, type TrustBody } from '../../../shared/wire/trust.ts'
import { temporaryFolder } from '../store/temporary.ts'

t.test("the coordinator's signing key", async t => {
  t.test('is made once, for its owner alone', async t => {
    const folder = await temporaryFolder(t)
    const [first, second] = await Promise.all([openSigning(folder), openSigning(folder)])
    t.equal(first.publicKey, second.publicKey)
    t.equal(statSync(join(folder, 'signing.json')).mode & 0o777, 0o600)
  })

  t.test('that is damaged is an error and stays as it is', async t => {
    const folder = await temporaryFolder(t)
    for (const text of ['', '{}', '{"private_key":"x","endorsements":[]}']) {
      writeFileSync(join(folder, 'signing.json'), text)
      await t.rejects(openSigning(folder), { code: 'store_unavailable' })
      t.equal(readFileSync(join(folder, 'signing.json'), 'utf8'), text)
    }
  })

  t.test('can be followed over any number of rotations and a restart', async t => {
    const folder = await temporaryFolder(t)
    const signing = await openSigning(folder)
    const keys = [signing.publicKey]
    for (let i = 0; i < 3; i++) keys.push((await signing.rotate()).signing_key)
    const again = await openSigning(folder)
    t.equal(again.publicKey, keys.at(-1))
    t.ok(isSignedBy(again.publicKey, 'command', { x: 1 }, again.sign('command', { x: 1 })))
    for (const pinned of keys) t.equal(followedKey(pinned, again.trust()), again.publicKey)
  })
})

t.test('a change of the key is not believed', async t => {
  const signing = await openSigning(await temporaryFolder(t))
  const pinned = signing.publicKey
  const trust = await signing.rotate()
  const stranger = signerOf(newPrivateKey())
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
      t.equal(followedKey(pinned, body), undefined)
    })
  t.test('back to the old key, by who has seen the new one', async t => {
    t.equal(followedKey(trust.signing_key, { ...trust, signing_key: pinned }), undefined)
  })
})
