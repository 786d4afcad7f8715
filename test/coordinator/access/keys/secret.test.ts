import fc from 'fast-check'
import t from 'tap'
import {
  digestOf,
  KEY_PREFIX,
  newSecret,
  parseSecret,
  randomSecret,
  TOKEN_PREFIX,
} from '../../../../coordinator/access/keys/secret.ts'
import { Verifier } from '../../../../coordinator/access/keys/verifier.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

const hex = (text: string): string => digestOf(text).toString('hex')

t.test('a secret', async t => {
  t.test('has prefix, id, 256 bits and a checksum, all base 62', async t => {
    const { id, text } = newSecret(KEY_PREFIX)
    t.match(text, /^svc-dev-[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/)
    t.equal(text.slice(8, 16), id)
    t.equal(parseSecret(KEY_PREFIX, text), id)
    t.match(newSecret(TOKEN_PREFIX).text, /^shl_join_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/)
  })

  t.test('differs each time, and its digest is that of the whole text', async t => {
    const made = Array.from({ length: 200 }, () => newSecret(KEY_PREFIX))
    t.equal(new Set(made.map(secret => secret.text)).size, 200)
    t.equal(new Set(made.map(secret => secret.id)).size, 200)
    t.ok(made.every(secret => secret.digest === hex(secret.text)))
    t.equal(randomSecret().length, 43)
  })

  t.test('of one kind is not valid as another', async t => {
    t.equal(parseSecret(TOKEN_PREFIX, newSecret(KEY_PREFIX).text), undefined)
    t.equal(parseSecret(KEY_PREFIX, newSecret(TOKEN_PREFIX).text), undefined)
  })

  t.test('is refused with any one character changed', async t => {
    const { text } = newSecret(KEY_PREFIX)
    for (let at = 0; at < text.length; at++)
      for (const other of ['0', 'z', '_', '-', '\u0000', 'é']) {
        if (text[at] === other) continue
        const changed = text.slice(0, at) + other + text.slice(at + 1)
        if (parseSecret(KEY_PREFIX, changed) !== undefined) t.fail(`${changed} was taken`)
      }
    for (const wrong of ['', ' ', text.slice(1), `${text}0`, ` ${text}`, text.repeat(1000)])
      t.equal(parseSecret(KEY_PREFIX, wrong), undefined)
  })

  t.test('is never found in noise', async t => {
    const base62 = fc.stringMatching(/^[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/)
    const noise = fc.oneof(
      fc.string(),
      base62.map(text => KEY_PREFIX + text),
    )
    const property = fc.property(noise, text => parseSecret(KEY_PREFIX, text) === undefined)
    t.notOk(fc.check(property, { numRuns: 2000 }).failed)
  })
})

t.test('a verifier', async t => {
  const createCountingLoader = (digests: string[] = [hex('right')]) => {
    const loads: string[] = []
    const load = async (id: string) => {
      loads.push(id)
      return id.startsWith('known') ? digests.map(digest => ({ value: id, digest })) : []
    }
    return { loads, load }
  }

  t.test('reads once, and once more to refuse, and then answers from memory', async t => {
    const { loads, load } = createCountingLoader()
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load })
    t.equal(await verifier.verify('known', 'right'), 'known')
    t.equal(verifier.verify('known', 'right'), 'known')
    t.equal(await verifier.verify('known', 'wrong'), undefined, 'the first refusal reads too')
    t.equal(verifier.verify('known', 'wrong'), undefined)
    t.equal(await verifier.verify('other', 'right'), undefined)
    t.equal(verifier.verify('other', 'right'), undefined)
    t.strictSame(loads, ['known', 'known', 'other'])
  })

  t.test('accepts each of two live secrets', async t => {
    const { load } = createCountingLoader([hex('old'), hex('new')])
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load })
    for (const secret of ['old', 'new']) t.equal(await verifier.verify('known', secret), 'known')
    t.equal(await verifier.verify('known', 'third'), undefined)
  })

  t.test('shares one read among all simultaneous checks', async t => {
    const { loads, load } = createCountingLoader()
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load })
    const asked = ['right', 'wrong', 'right'].map(secret => verifier.verify('known', secret))
    t.strictSame(await Promise.all(asked), ['known', undefined, 'known'])
    t.strictSame(loads, ['known'])
  })

  for (const how of ['forget', 'clear'] as const)
    t.test(`does not keep a result read before a ${how}`, async t => {
      const gates: (() => void)[] = []
      const load = async (id: string) => {
        await new Promise<void>(resolve => gates.push(resolve))
        return [{ value: `${id} ${gates.length}`, digest: hex('right') }]
      }
      const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load })
      const before = verifier.verify('known', 'right')
      if (how === 'forget') verifier.forget('known')
      else verifier.clear()
      const after = verifier.verify('known', 'right')
      gates[1]?.()
      t.equal(await after, 'known 2')
      gates[0]?.()
      await before
      t.equal(verifier.verify('known', 'right'), 'known 2')
    })

  t.test('retries a failed read the next time', async t => {
    let fails = true
    const load = async () => {
      if (fails) throw new RangeError('disk')
      return [{ value: 'ok', digest: hex('right') }]
    }
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load })
    await t.rejects(Promise.resolve(verifier.verify('known', 'right')), { message: 'disk' })
    fails = false
    t.equal(await verifier.verify('known', 'right'), 'ok')
  })

  t.test('keeps real ids through a flood of invented ones', async t => {
    const { loads, load } = createCountingLoader()
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load, capacity: 2 })
    await verifier.verify('known', 'right')
    for (let n = 0; n < 5000; n++) await verifier.verify(`invented ${n}`, 'right')
    t.equal(verifier.verify('known', 'right'), 'known')
    t.equal(loads.length, 5001)
  })

  t.test('holds no more than its capacity and keeps the last used entries', async t => {
    const { loads, load } = createCountingLoader()
    const verifier = new Verifier({ nowMs: systemRuntime.nowMs, load, capacity: 2 })
    for (const id of ['known 1', 'known 2', 'known 1', 'known 3', 'known 1', 'known 2'])
      await verifier.verify(id, 'right')
    t.strictSame(loads, ['known 1', 'known 2', 'known 3', 'known 2'])
  })
})
