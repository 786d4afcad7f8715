import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createPrivate, readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { createSigner, generatePrivateKey, isSignedBy, openSigner } from '../../shared/signing.ts'

const folderOf = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-signing-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test('a signature', async t => {
  const signer = createSigner(generatePrivateKey())
  const other = createSigner(generatePrivateKey())
  const value = { b: 1, a: ['x', { c: null }] }
  const signature = signer.sign('command', value)
  const good = [signer.publicKey, 'command', value, signature] as const

  t.test('is valid for its value, in any order of members', async t => {
    t.ok(isSignedBy(...good))
    t.ok(isSignedBy(signer.publicKey, 'command', { a: ['x', { c: null }], b: 1 }, signature))
  })

  for (const [what, attempt] of [
    ['another key', [other.publicKey, 'command', value, signature]],
    ['another purpose', [signer.publicKey, 'ack', value, signature]],
    ['another value', [signer.publicKey, 'command', { ...value, b: 2 }, signature]],
    ['a purpose that runs into the value', [signer.publicKey, 'command\n{', value, signature]],
    ['a cut signature', [signer.publicKey, 'command', value, signature.slice(0, -2)]],
    ['no signature', [signer.publicKey, 'command', value, '']],
    ['no key', ['', 'command', value, signature]],
    ['a key that is not a point', ['A'.repeat(43), 'command', value, signature]],
    ['a value that is no JSON', [signer.publicKey, 'command', Number.NaN, signature]],
  ] as const)
    t.test(`is refused for ${what}`, async t => {
      t.notOk(isSignedBy(...(attempt as unknown as typeof good)))
    })
})

t.test('a key file', async t => {
  t.test('is created once, readable by its owner only, and read again', async t => {
    const path = join(folderOf(t), 'state', 'signing.key')
    const first = await openSigner(path)
    t.equal((await openSigner(path)).publicKey, first.publicKey)
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  })

  t.test('holds one key when several processes create it at once', async t => {
    const path = join(folderOf(t), 'signing.key')
    const signers = await Promise.all(Array.from({ length: 8 }, () => openSigner(path)))
    t.equal(new Set(signers.map(({ publicKey }) => publicKey)).size, 1)
  })

  t.test('that is damaged causes an error and is not replaced', async t => {
    const path = join(folderOf(t), 'signing.key')
    writeFileSync(path, 'rubbish')
    await t.rejects(openSigner(path), { code: 'store_unavailable' })
    t.equal(readFileSync(path, 'utf8'), 'rubbish')
  })
})

t.test('a private file', async t => {
  t.test('is replaced atomically and leaves no temporary file', async t => {
    const folder = folderOf(t)
    const path = join(folder, 'x.json')
    await replacePrivate(path, 'one')
    chmodSync(path, 0o644)
    await replacePrivate(path, 'two')
    t.equal(await readPrivate(path), 'two')
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.notOk(await createPrivate(path, 'three'))
    t.equal(await readPrivate(path), 'two')
    t.strictSame(readdirSync(folder), ['x.json'])
  })

  t.test('that does not exist reads as undefined', async t => {
    t.equal(await readPrivate(join(folderOf(t), 'none')), undefined)
  })
})
