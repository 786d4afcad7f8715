import MiniSearch from 'minisearch'
import t from 'tap'
import { TextIndex } from '../../../../coordinator/insight/knowledge/text-index.ts'
import { randomOf } from '../../../support/random.ts'

const nodeOf = (id: string, name: string, text: string) =>
  ({ id, name, text, kind: 'thing', layer: 'l', attributes: {} }) as const

t.test('the text index', async t => {
  t.test('ranks as MiniSearch does, also after changes and removals', async t => {
    const { randomBelow, pick } = randomOf(3)
    const words = Array.from({ length: 60 }, (_, n) => `w${(n * n).toString(36)}x${n}`)
    const sentence = (most: number): string =>
      [...new Set(Array.from({ length: 1 + randomBelow(most) }, () => pick(words)))].join(' ')
    const index = new TextIndex()
    const nodes = new Map<string, ReturnType<typeof nodeOf>>()
    for (let n = 0; n < 300; n++) {
      const id = `n${randomBelow(120)}`
      if (randomBelow(4) === 0) {
        index.remove(id)
        nodes.delete(id)
        continue
      }
      const node = nodeOf(id, sentence(3), sentence(12))
      index.put(node)
      nodes.set(id, node)
    }
    const oracle = new MiniSearch({ fields: ['name', 'id', 'text'] })
    oracle.addAll([...nodes.values()])
    const options = { boost: { name: 3, id: 2 }, prefix: (word: string) => word.length > 2 }
    for (let n = 0; n < 40; n++) {
      const query = `${pick(words).slice(0, 2 + randomBelow(4))} ${pick(words)}`
      const scores = new Map(oracle.search(query, options).map(({ id, score }) => [id, score]))
      const best = Math.max(...scores.values())
      const found = index.find(query, 10)
      t.equal(found.length, Math.min(10, scores.size))
      for (const { id, score } of found)
        t.ok(Math.abs(score - (scores.get(id) ?? 0) / best) < 1e-9, `${query}: ${id}`)
      const sorted = [...scores.values()].sort((a, b) => b - a)
      for (const [place, { id }] of found.entries()) t.equal(scores.get(id), sorted[place])
    }
  })

  t.test('finds by other letters only without a hit, and by what the caller accepts', async t => {
    const index = new TextIndex()
    index.put(nodeOf('a', 'billing service', ''))
    index.put(nodeOf('b', 'bulling', ''))
    const idsOf = (...query: Parameters<typeof index.find>) =>
      index.find(...query).map(({ id }) => id)
    t.strictSame(idsOf('billing', 5), ['a'])
    t.strictSame(idsOf('bellings', 5).sort(), ['a', 'b'])
    t.strictSame(
      idsOf('billing', 5, id => id === 'b'),
      ['b'],
    )
    t.strictSame(idsOf('', 5), [])
    t.strictSame(new TextIndex().find('billing', 5), [])
  })
})
