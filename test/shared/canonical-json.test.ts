import fc from 'fast-check'
import t from 'tap'
import { canonicalJson } from '../../shared/canonical-json.ts'

t.test('canonical JSON', async t => {
  t.test('is independent of the order of members', async t => {
    t.equal(canonicalJson({ b: [1, { d: 2, c: 3 }], a: 'x' }), '{"a":"x","b":[1,{"c":3,"d":2}]}')
  })

  t.test('members are sorted by UTF-16 code units', async t => {
    // The example of RFC 8785 section 3.2.3.
    const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6']
    const value = Object.fromEntries(names.map(name => [name, 0]))
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']
    t.equal(canonicalJson(value), `{${sorted.map(name => `${JSON.stringify(name)}:0`).join(',')}}`)
  })

  t.test('members that are undefined are left out', async t => {
    t.equal(canonicalJson({ a: undefined, b: null }), '{"b":null}')
  })

  const table: [unknown, string][] = [
    [-0, '0'],
    [1e21, '1e+21'],
    [4.5, '4.5'],
    [1e-27, '1e-27'],
    ['\u20ac$\u000f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    [[], '[]'],
    [Object.create(null), '{}'],
  ]
  for (const [value, text] of table)
    t.test(`${text}`, async t => t.equal(canonicalJson(value), text))

  for (const value of [
    Number.NaN,
    1 / 0,
    1n,
    undefined,
    () => 1,
    new Date(0),
    '\ud800',
    { '\ud800': 1 },
  ])
    t.test(`refuses ${String(typeof value === 'string' ? 'a lone surrogate' : value)}`, async t => {
      t.throws(() => canonicalJson(value), TypeError)
      t.throws(() => canonicalJson([value]), TypeError)
    })

  t.test('parses to the same value, for any value', async t => {
    const property = fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), value => {
      const plain = JSON.parse(JSON.stringify(value))
      t.strictSame(JSON.parse(canonicalJson(value)), plain)
    })
    fc.assert(property, { numRuns: 100 })
  })
})
