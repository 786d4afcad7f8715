import t from 'tap'
import { announce, sample } from '../../../../bench/fleet/bodies.ts'
import { SharedValues } from '../../../../coordinator/fleet/series/shared-values.ts'

const again = <T>(value: T): T => JSON.parse(JSON.stringify(value))

t.test('messages are equal with shared values', t => {
  const shared = new SharedValues()
  const verbs = [{ verb: 'ping', description: 'd', hazard: 'safe' as const, timeout_seconds: 1 }]
  const born = { ...announce('a'), verbs, coordinator_key: 'k'.repeat(43) }
  const measured = sample(5)
  t.strictSame(shared.announce(again(born)), born)
  t.strictSame(
    shared.announce(again(announce('b'))),
    announce('b'),
    'also without what is optional',
  )
  t.strictSame(shared.sample(again(measured)), measured)
  const [one, two] = [shared.announce(again(born)), shared.announce(again(born))]
  t.equal(one.verbs, two.verbs, 'one list for all cells')
  t.equal(one.tags, two.tags)
  t.end()
})

t.test('invented values of cells do not fill the memory', t => {
  const shared = new SharedValues()
  const long = 'x'.repeat(20_000)
  t.not(shared.list([long]), shared.list([long]), 'long lists are not remembered')
  for (let i = 0; i < 1000; i++) shared.list([`tag ${i}`])
  t.equal(shared.list(['tag 1']), shared.list(['tag 1']))
  t.not(shared.list(['tag 999']), shared.list(['tag 999']), 'and only so many of them')
  const texts = Array.from({ length: 10_000 }, (_, i) => `text ${i}`)
  t.strictSame(
    texts.map(text => shared.text(text)),
    texts,
  )
  t.end()
})
