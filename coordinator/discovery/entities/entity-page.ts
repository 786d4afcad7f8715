import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { discoveryEntityTable, type StoredEntity } from './discovery-entity.table.ts'
import { listSources } from './entity-index.ts'
import { readInParts } from './evidence-rows.ts'

/** Filters of entities; absent ones match everything. */
export interface EntityFilter {
  source?: string | undefined
  device_type?: string | undefined
  risk_level?: string | undefined
  is_present?: boolean | undefined
}

/** Place of an entity in the order of pages: newest sighting first, then by id. */
export interface PagePlace {
  id: string
  lastAt: number
}

/** One page, after a place, of the entities that have every one of the words. */
interface PageRequest extends EntityFilter {
  words: readonly string[]
  after: PagePlace | undefined
  limit: number
}

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/**
 * Most entities that a search collects and sorts. The words of a larger result are so frequent that
 * a page is filled by walking the newest entities instead.
 */
const MAX_FOUND = 2000

export const readEntityPage = async (
  read: Reading,
  request: PageRequest,
): Promise<StoredEntity[]> => {
  const ids = await findIds(read, request.words)
  return ids === undefined ? readNewest(read, request) : readFound(read, ids, request)
}

/** True for an entity that the filter lets through. */
export const matchesFilter = (
  entity: StoredEntity,
  { source, device_type, risk_level, is_present }: EntityFilter,
): boolean =>
  (source === undefined || listSources(entity.sources).includes(source)) &&
  (device_type === undefined || entity.type === device_type) &&
  (risk_level === undefined || entity.riskLevel === risk_level) &&
  (is_present === undefined || entity.isPresent === is_present)

/** Reads a page by walking an index in its order. */
const readNewest = async (
  read: Reading,
  { source, device_type, risk_level, is_present, words, after, limit }: PageRequest,
): Promise<StoredEntity[]> => {
  const [lastAt, id] =
    source === undefined
      ? [sql.ref<number>('e.last_at'), sql.ref<string>('e.id')]
      : [sql.ref<number>('s.last_at'), sql.ref<string>('s.entity_id')]
  let query = read
    .selectFrom('discovery_entities as e')
    .$if(source !== undefined, all =>
      all
        .innerJoin('discovery_entity_sources as s', 's.entity_id', 'e.id')
        .where('s.source', '=', source as string),
    )
    .selectAll('e')
    .orderBy(lastAt, 'desc')
    .orderBy(id)
    .limit(limit)
  if (device_type !== undefined) query = query.where('e.type', '=', device_type)
  if (risk_level !== undefined) query = query.where('e.risk_level', '=', risk_level)
  if (is_present !== undefined) query = query.where('e.is_present', '=', is_present ? 1 : 0)
  // the first condition bounds the index, which the second alone would not
  if (after !== undefined)
    query = query.where(
      sql<boolean>`${lastAt} <= ${after.lastAt} and (${lastAt} < ${after.lastAt} or ${id} > ${after.id})`,
    )
  for (const word of words)
    query = query.where(
      sql<boolean>`exists (select 1 from discovery_entity_words as w
        where w.entity_id = ${id} and ${matchPrefix('w.word', word)})`,
    )
  return (await query.execute()).map(discoveryEntityTable.read)
}

/** Ids of the entities that have all words; undefined without words, and for too many entities. */
const findIds = async (read: Reading, words: readonly string[]): Promise<string[] | undefined> => {
  const found = await Promise.all(words.map(word => findIdsOf(read, word)))
  const [rarest] = found.toSorted((a, b) => a.length - b.length)
  if (rarest === undefined || rarest.length > MAX_FOUND) return undefined
  let ids = rarest
  for (const [n, word] of words.entries())
    if (found[n] !== rarest) ids = await keepIdsWith(read, ids, word)
  return ids
}

const findIdsOf = async (read: Reading, word: string): Promise<string[]> => {
  const rows = await read
    .selectFrom('discovery_entity_words')
    .select('entity_id')
    .distinct()
    .where(matchPrefix('word', word))
    .limit(MAX_FOUND + 1)
    .execute()
  return rows.map(({ entity_id }) => entity_id)
}

const keepIdsWith = async (
  read: Reading,
  ids: readonly string[],
  word: string,
): Promise<string[]> => {
  const rows = await readInParts(ids, part =>
    read
      .selectFrom('discovery_entity_words')
      .select('entity_id')
      .distinct()
      .where('entity_id', 'in', part)
      .where(matchPrefix('word', word))
      .execute(),
  )
  return rows.map(({ entity_id }) => entity_id)
}

/** Matches words with a prefix as a range; U+10FFFF sorts after every other character, in UTF-8 too. */
const matchPrefix = (column: string, word: string): RawBuilder<boolean> =>
  sql<boolean>`${sql.ref(column)} >= ${word} and ${sql.ref(column)} < ${`${word}\u{10ffff}`}`

/** Sorts the found entities by their narrow rows and reads only as many whole rows as the page takes. */
const readFound = async (
  read: Reading,
  ids: readonly string[],
  { after, limit, ...filter }: PageRequest,
): Promise<StoredEntity[]> => {
  const places = (await readPlaces(read, ids)).toSorted(compareToPlace)
  const first =
    after === undefined ? 0 : places.findIndex(place => compareToPlace(place, after) > 0)
  const page: StoredEntity[] = []
  for (let at = first; at >= 0 && at < places.length && page.length < limit; at += limit) {
    const part = places.slice(at, at + limit).map(({ id }) => id)
    const rows = await readInParts(part, some =>
      read.selectFrom('discovery_entities').selectAll().where('id', 'in', some).execute(),
    )
    const entities = rows.map(discoveryEntityTable.read)
    page.push(...entities.filter(each => matchesFilter(each, filter)).toSorted(compareToPlace))
  }
  return page.slice(0, limit)
}

const readPlaces = (read: Reading, ids: readonly string[]): Promise<PagePlace[]> =>
  readInParts(ids, part =>
    read
      .selectFrom('discovery_entity_sources')
      .select(({ fn }) => ['entity_id as id', fn.max('last_at').as('lastAt')])
      .where('entity_id', 'in', part)
      .groupBy('entity_id')
      .execute(),
  )

const compareToPlace = (a: PagePlace, b: PagePlace): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : Number(a.id > b.id))
