import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  discoveryEntityTable,
  type StoredEntity,
} from '../../../../coordinator/discovery/entities/discovery-entity.table.ts'
import {
  indexEntities,
  unindexEntity,
} from '../../../../coordinator/discovery/entities/entity-index.ts'
import {
  type EntityFilter,
  matchesFilter,
  readEntityPage,
} from '../../../../coordinator/discovery/entities/entity-page.ts'
import {
  listEntityWords,
  listQueryWords,
} from '../../../../coordinator/discovery/entities/entity-words.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const describe = (fields: Record<string, unknown>): StoredEntity['description'] => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      { value, source: 'x', cell_id: null, at: '', confidence: 1, conflicts: [] },
    ]),
  ),
  keys: [],
  types: [{ type: 'unknown', confidence: 0, evidence: [] }],
  risk: { level: 'none', points: 0, reasons: [] },
  sources: [],
})

/** More than a search collects have the word `lan`; three at a time were seen at once. */
const COUNT = 2100
const ENTITIES = Array.from({ length: COUNT }, (_, n): StoredEntity => {
  const name = `${['Printer', 'lamp', 'hub'][n % 3]}-${n}.lan`
  return {
    id: `ent_${(n * 7919) % COUNT}`,
    type: ['printer', 'light', 'unknown'][n % 3] as string,
    riskLevel: n % 50 === 0 ? 'high' : 'low',
    riskPoints: 0,
    holder: '',
    keepRank: 0,
    sources: n % 5 === 0 ? ' mdns-scan network-map ' : ' network-map ',
    isNew: false,
    isPresent: n % 40 !== 0,
    firstAt: 0,
    lastAt: Math.floor(n / 3),
    description: describe({ name }),
  }
})

const byPlace = (a: StoredEntity, b: StoredEntity): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)

const hasWords = (entity: StoredEntity, words: readonly string[]): boolean => {
  const own = [...listEntityWords(entity.type, entity.description)]
  return words.every(word => own.some(each => each.startsWith(word)))
}

t.test('pages of entities', async t => {
  const { ledger } = await temporaryStore(t)
  await ledger.sealed.write(async trx => {
    for (let at = 0; at < COUNT; at += 300)
      await trx
        .insertInto('discovery_entities')
        .values(ENTITIES.slice(at, at + 300).map(discoveryEntityTable.write))
        .execute()
    await indexEntities(trx, ENTITIES)
  })
  const list = async (filter: EntityFilter, text = '', limit = 90): Promise<string[]> => {
    const ids: string[] = []
    const words = listQueryWords(text)
    for (let after: StoredEntity | undefined; ; ) {
      const rows = await readEntityPage(ledger.read, { ...filter, words, after, limit })
      ids.push(...rows.map(({ id }) => id))
      if (rows.length < limit) return ids
      after = rows.at(-1)
    }
  }

  const filters: [EntityFilter, string?][] = [
    [{}],
    [{ source: 'mdns-scan' }],
    [{ device_type: 'printer', risk_level: 'high' }],
    [{ is_present: false }],
    [{}, 'lan'],
    [{ source: 'mdns-scan', is_present: true }, 'lan'],
    [{}, 'LAN print'],
    [{ risk_level: 'high', source: 'network-map' }, 'lamp'],
    [{}, 'hub-20'],
    [{}, 'nothing'],
  ]
  for (const [filter, text = ''] of filters)
    await t.test(`${JSON.stringify(filter)} ${text} joins to all that match`, async t => {
      const words = listQueryWords(text)
      const all = ENTITIES.filter(each => matchesFilter(each, filter) && hasWords(each, words))
      t.strictSame(
        await list(filter, text),
        all.toSorted(byPlace).map(({ id }) => id),
      )
    })

  await t.test('an entity is found by its new words and not by its old ones', async t => {
    const entity = ENTITIES[5] as StoredEntity
    const description = describe({ name: 'Étagère' })
    const moved = { ...entity, sources: ' snmp-discover ', description }
    await ledger.sealed.write(trx => indexEntities(trx, [moved]))
    t.strictSame(await list({}, 'étag'), [entity.id])
    t.strictSame(await list({}, 'hub-5.lan'), [])
    t.strictSame(await list({ source: 'snmp-discover' }), [entity.id])
    t.notOk((await list({ source: 'network-map' })).includes(entity.id))
    await ledger.sealed.write(trx => unindexEntity(trx, entity.id))
    t.strictSame(await list({}, 'étag'), [])
  })
})

t.test('an entity with any name is stored, again too, and found by the name', async t => {
  const { ledger } = await temporaryStore(t)
  const [entity] = ENTITIES as [StoredEntity]
  await ledger.sealed.write(trx =>
    trx.insertInto('discovery_entities').values(discoveryEntityTable.write(entity)).execute(),
  )
  const read = (text: string) =>
    readEntityPage(ledger.read, { words: listQueryWords(text), after: undefined, limit: 5 })
  const store = (names: string[]) => {
    const description = describe({ models: names })
    return ledger.sealed.write(trx => indexEntities(trx, [{ ...entity, description }]))
  }
  const long = 'x'.repeat(63)
  const pieces = ['a', '\0', '\ud83d', '\udc00', '😀', '🤖', '\u{10ffff}', long, ' ', '.']
  const name = fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map(some => some.join(''))
  const property = fc.asyncProperty(fc.array(name, { maxLength: 4 }), async names => {
    await store(names)
    await store(names)
    for (const text of names.filter(each => listQueryWords(each).length > 0))
      assert.equal((await read(text)).length, 1, JSON.stringify(text))
  })
  const examples: [string[]][] = [[['a\0b']], [['\ud83d', '\ud83e']], [[`${long}😀`, `${long}🤖`]]]
  await t.resolves(fc.assert(property, { numRuns: 30, examples }))
})
