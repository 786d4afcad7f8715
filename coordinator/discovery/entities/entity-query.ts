import { type Kysely, sql } from 'kysely'
import type { Logger } from 'pino'
import { confidenceOf } from '../../../discovery/entities/source-weights.ts'
import { iso } from '../../../shared/time.ts'
import { countAll } from '../../kernel/store/count.ts'
import { readPage } from '../../kernel/store/read-each.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { discoveryScannerTable } from '../modules/discovery-scanner.table.ts'
import { type Delta, readDelta } from './deltas.ts'
import { DELTA_KINDS } from './discovery-delta.table.ts'
import { discoveryEntityTable, type StoredEntity } from './discovery-entity.table.ts'
import { type EntityFilter, matchesFilter, type PagePlace, readEntityPage } from './entity-page.ts'
import { nameOf, readEntities } from './entity-rows.ts'
import { listQueryWords } from './entity-words.ts'
import { readTraces } from './evidence-rows.ts'
import { type KeyAlarmView, readAlarms } from './key-alarms.ts'

interface EntityPage extends EntityFilter {
  /** Words, each of which is the beginning of a word of the entity. */
  text?: string | undefined
  limit: number
  /** Last entity of the page before: `<last_at>:<id>`. */
  after?: string | undefined
}

/** Most key alarms of a page. */
const MAX_ALARMS = 1000

export type EntityView = ReturnType<typeof viewOf>

/** Rows that are read at once for a reader of all: some 4 ms of work. */
const PART_ROWS = 50

/** Entities of the fleet's surroundings as they are stored, the newest sighting first. */
export class EntityQuery {
  readonly #read: Kysely<LedgerTables>
  readonly #now: () => number
  readonly #logger: Pick<Logger, 'warn'>

  constructor(read: Kysely<LedgerTables>, now: () => number, logger: Pick<Logger, 'warn'>) {
    this.#read = read
    this.#now = now
    this.#logger = logger
  }

  async page({
    text,
    after,
    ...page
  }: EntityPage): Promise<{ entities: EntityView[]; next: string | null }> {
    const words = listQueryWords(text ?? '')
    const found =
      text !== undefined && words.length === 0
        ? []
        : await readEntityPage(this.#read, { ...page, words, after: placeOf(after) })
    const last = found.length === page.limit ? found.at(-1) : undefined
    return {
      entities: await this.#viewAll(found),
      next: last === undefined ? null : `${last.lastAt}:${last.id}`,
    }
  }

  /** All entities that match, in the order of their ids, with the size of what was read. */
  async *readParts(
    filter: EntityFilter,
  ): AsyncGenerator<{ entities: EntityView[]; bytes: number }> {
    for (let last = ''; ; ) {
      // the filter is not part of the query: it must walk the one index that has this order
      const rows = await this.#read
        .selectFrom('discovery_entities')
        .selectAll()
        .where('id', '>', last)
        .orderBy('id')
        .limit(PART_ROWS)
        .execute()
      const stored = rows.map(discoveryEntityTable.read)
      const entities = await this.#viewAll(stored.filter(entity => matchesFilter(entity, filter)))
      yield { entities, bytes: rows.reduce((sum, row) => sum + row.description_json.length, 0) }
      if (rows.length < PART_ROWS) return
      last = rows.at(-1)?.id ?? ''
    }
  }

  /** One entity; an id that was merged into another finds that one. */
  async find(id: string): Promise<EntityView | undefined> {
    const found = (await readEntities(this.#read, [id])).get(id) ?? (await this.#findMerged(id))
    return found && (await this.#viewAll([found]))[0]
  }

  /** Keys that several things carry, the newest alarms first. */
  listKeyAlarms(limit: number): Promise<KeyAlarmView[]> {
    return readAlarms(this.#read, { limit })
  }

  /** Deltas since a time or after a number, oldest first, without those that cannot be read. */
  async deltas(from: { since?: number; after?: number; limit: number }): Promise<Delta[]> {
    const { since = 0, after = 0, limit } = from
    const first = Math.max(after + 1, await this.#firstSince(since))
    return readPage({
      limit,
      select: (count, last) =>
        this.#read
          .selectFrom('discovery_deltas')
          .selectAll()
          .where('seq', '>=', last === undefined ? first : last.seq + 1)
          .orderBy('seq')
          .limit(count)
          .execute(),
      read: readDelta,
      logger: this.#logger,
    })
  }

  /** Number of the first delta since a time: numbers grow with time, so that it bounds a page. */
  async #firstSince(since: number): Promise<number> {
    const query = this.#read.selectFrom('discovery_deltas').where('at', '>=', since)
    const first = await query.orderBy('at').orderBy('seq').select('seq').limit(1).executeTakeFirst()
    return first?.seq ?? Number.MAX_SAFE_INTEGER
  }

  /** Numbers of deltas since a time, by kind. */
  async countDeltas(since: number): Promise<Record<string, number>> {
    const rows = await this.#read
      .selectFrom('discovery_deltas')
      // every kind is named, so that each is one range of the index
      .where('kind', 'in', DELTA_KINDS)
      .where('at', '>=', since)
      .groupBy('kind')
      .select(['kind', countAll.as('count')])
      .execute()
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]))
  }

  /** Numbers of deltas by kind, for each hour from one whole hour to another. */
  async countByHour(
    from: number,
    to: number,
  ): Promise<{ from: string; deltas: Record<string, number> }[]> {
    const hour = sql<number>`at / 3600000`
    const rows = await this.#read
      .selectFrom('discovery_deltas')
      .where('kind', 'in', DELTA_KINDS)
      .where('at', '>=', from)
      .where('at', '<', to)
      .groupBy([hour, 'kind'])
      .select([hour.as('hour'), 'kind', countAll.as('count')])
      .execute()
    const hours = Array.from({ length: Math.ceil((to - from) / 3_600_000) }, (_, n) => ({
      from: new Date(from + n * 3_600_000).toISOString(),
      deltas: {} as Record<string, number>,
    }))
    for (const { hour: n, kind, count } of rows) {
      const found = hours[Math.floor(n) - from / 3_600_000]
      if (found) found.deltas[kind] = (found.deltas[kind] ?? 0) + count
    }
    return hours
  }

  /** Numbers of entities by one of their columns. */
  async countBy(column: 'type' | 'risk_level' | 'is_present'): Promise<Record<string, number>> {
    const rows = await this.#read
      .selectFrom('discovery_entities')
      .groupBy(column)
      .select([column, countAll.as('count')])
      .execute()
    return Object.fromEntries(rows.map(row => [String(row[column]), row.count]))
  }

  /** Scanners that have completed a run, the newest first. */
  async listScanners(limit: number) {
    const query = this.#read.selectFrom('discovery_scanners').selectAll()
    const rows = await query.where('runs', '>', 0).orderBy('at', 'desc').limit(limit).execute()
    return rows.map(discoveryScannerTable.read)
  }

  async #viewAll(entities: readonly StoredEntity[]): Promise<EntityView[]> {
    const now = this.#now()
    const entityIds = entities.map(({ id }) => id)
    const alarms = await readAlarms(this.#read, { entityIds, limit: MAX_ALARMS })
    return entities.map(entity => viewOf(entity, alarms, now))
  }

  /** The trace that founded the entity says where it went. */
  async #findMerged(id: string): Promise<StoredEntity | undefined> {
    const [trace] = await readTraces(this.#read, [id.replace(/^ent_/, '')])
    if (trace?.entityId === undefined) return undefined
    return (await readEntities(this.#read, [trace.entityId])).get(trace.entityId)
  }
}

const placeOf = (text: string | undefined): PagePlace | undefined => {
  if (text === undefined) return undefined
  const at = text.indexOf(':')
  return { lastAt: Number(text.slice(0, at)), id: text.slice(at + 1) }
}

const viewOf = (entity: StoredEntity, alarms: readonly KeyAlarmView[], now: number) => {
  const { description } = entity
  const sources = description.sources.map(({ module, at, ttl_s }) => ({
    module,
    at: Date.parse(at),
    ttl_s: ttl_s ?? undefined,
  }))
  return {
    entity_id: entity.id,
    name: nameOf(description),
    device_type: entity.type,
    risk_level: entity.riskLevel,
    confidence: confidenceOf(sources, now),
    is_present: entity.isPresent,
    // it is recorded after it was seen
    first_seen: iso(Math.min(entity.firstAt, entity.lastAt)),
    last_seen: iso(entity.lastAt),
    types: description.types,
    risk: description.risk,
    keys: description.keys,
    sources: description.sources,
    key_alarms: alarms.filter(({ entity_ids }) => entity_ids.includes(entity.id)),
    fields: description.fields as Record<string, unknown>,
  }
}
