import { timingSafeEqual } from 'node:crypto'
import t from 'tap'
import { digestOf, KEY_PREFIX, newSecret } from '../../../../coordinator/access/keys/secret.ts'
import { Verifier } from '../../../../coordinator/access/keys/verifier.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { KEY_CLASSES, keyClasses } from '../../../support/key-classes.ts'

/* How long it takes is measured by `npm run prove -- key-timing`. */

t.test('the check does the same work for every key', async t => {
  const work = { digests: 0, comparisons: 0 }
  const { keys, presented } = await keyClasses(t, {
    each: 2,
    checking: {
      digestOf: text => {
        work.digests++
        return digestOf(text)
      },
      isEqual: (a, b) => {
        work.comparisons++
        return timingSafeEqual(a, b)
      },
    },
  })
  t.teardown(() => keys.close())
  const workFor = async (secret: string) => {
    Object.assign(work, { digests: 0, comparisons: 0 })
    const key = await keys.authenticate(secret)
    return { ...work, known: key !== undefined }
  }
  for (const name of KEY_CLASSES)
    await t.test(name, async t => {
      // what is no key at all is told by its own checksum, before anything stored is looked at
      const each = name === 'malformed' ? 0 : 1
      for (const secret of presented[name])
        t.strictSame(await workFor(secret), {
          digests: each,
          comparisons: 2 * each,
          known: name === 'right',
        })
    })

  await t.test('that has two live secrets', async t => {
    const [old = ''] = presented.right
    const key = await keys.authenticate(old)
    const { secret } = await keys.rotate(key?.id ?? '', 'all', { actor: 'test' })
    for (const each of [old, secret])
      t.strictSame(await workFor(each), { digests: 1, comparisons: 2, known: true })
  })

  await t.test('that is not in memory', async t => {
    const [secret = ''] = presented['wrong last byte']
    const key = await keys.authenticate(presented.right[0] ?? '')
    await keys.retire(key?.id ?? '', 'all', { actor: 'test' })
    t.strictSame(await workFor(secret), { digests: 1, comparisons: 2, known: false })
  })
})

t.test('the first refusal of an id costs one load, later ones none, known or not', async t => {
  const [known, unknown] = [newSecret(KEY_PREFIX), newSecret(KEY_PREFIX)]
  const loads: string[] = []
  const verifier = new Verifier<string>({
    nowMs: systemRuntime.nowMs,
    load: async id => {
      loads.push(id)
      return id === known.id ? [{ value: 'the key', digest: known.digest }] : []
    },
  })
  t.equal(await verifier.verify(known.id, known.text), 'the key')
  t.equal(verifier.verify(known.id, known.text), 'the key', 'it is in memory')
  loads.length = 0
  for (const { id } of [known, unknown])
    for (let n = 0; n < 3; n++)
      t.equal(await verifier.verify(id, newSecret(KEY_PREFIX, id).text), undefined)
  t.strictSame(loads, [known.id, unknown.id])
  t.equal(verifier.verify(known.id, known.text), 'the key', 'it is still in memory')
})
