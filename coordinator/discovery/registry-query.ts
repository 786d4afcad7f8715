import { type Kysely, sql } from 'kysely'
import { confidenceOf } from '../../discovery/registry/source-weights.ts'
import { countAll } from '../store/count.ts'
import type { DiscoveryDeltaRow, DiscoveryEntityRow } from '../store/registry-tables.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { Delta } from './deltas.ts'
import { describe, nameOf, readEntities } from './registry-entities.ts'
import { readTraces } from './registry-rows.ts'

/** Filters of a page of entities; absent ones match everything. */
export interface EntityFilter {
  source?: string | undefined
  device_type?: string | undefined
  risk_level?: string | undefined
  is_present?: boolean | undefined
}

export interface EntityPage extends EntityFilter {
  limit: number
  /** Last entity of the page before: `<last_at>:<id>`. */
  after?: string | undefined
}

export type EntityView = ReturnType<typeof viewOf>

/** Entities of the fleet's surroundings as they are stored, the newest sighting first. */
export class RegistryQuery {
  readonly #read: Kysely<LedgerTables>
  readonly #now: () => number

  constructor(read: Kysely<LedgerTables>, now: () => number) {
    this.#read = read
    this.#now = now
  }

  async page({
    limit,
    after,
    ...filter
  }: EntityPage): Promise<{ entities: EntityView[]; next: string | null }> {
    let query = this.#select(filter).orderBy('last_at', 'desc').orderBy('id').limit(limit)
    if (after !== undefined) {
      const [at, id] = [
        Number(after.slice(0, after.indexOf(':'))),
        after.slice(after.indexOf(':') + 1),
      ]
      query = query.where(row =>
        row.or([row('last_at', '<', at), row.and([row('last_at', '=', at), row('id', '>', id)])]),
      )
    }
    const rows = await query.execute()
    const last = rows.length === limit ? rows.at(-1) : undefined
    const now = this.#now()
    return {
      entities: rows.map(row => viewOf(row, now)),
      next: last === undefined ? null : `${last.last_at}:${last.id}`,
    }
  }

  /** One entity; an id that was merged into another finds that one. */
  async find(id: string): Promise<EntityView | undefined> {
    const row = (await readEntities(this.#read, [id])).get(id) ?? (await this.#findMerged(id))
    return row && viewOf(row, this.#now())
  }

  /** Deltas since a time or after a number, oldest first. */
  async deltas(from: { since?: number; after?: number; limit: number }): Promise<Delta[]> {
    const { since = 0, after = 0, limit } = from
    const rows = await this.#read
      .selectFrom('discovery_deltas')
      .selectAll()
      .where('at', '>=', since)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit)
      .execute()
    return rows.map(deltaOf)
  }

  /** Numbers of deltas since a time, by kind. */
  async countDeltas(since: number): Promise<Record<string, number>> {
    const query = this.#read.selectFrom('discovery_deltas').where('at', '>=', since)
    const rows = await query
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
    return query.orderBy('at', 'desc').limit(limit).execute()
  }

  #select({ source, device_type, risk_level, is_present }: EntityFilter) {
    let query = this.#read.selectFrom('discovery_entities').selectAll()
    if (source !== undefined) query = query.where('sources', 'like', `% ${source} %`)
    if (device_type !== undefined) query = query.where('type', '=', device_type)
    if (risk_level !== undefined) query = query.where('risk_level', '=', risk_level)
    if (is_present !== undefined) query = query.where('is_present', '=', is_present ? 1 : 0)
    return query
  }

  /** The trace that founded the entity says where it went. */
  async #findMerged(id: string): Promise<DiscoveryEntityRow | undefined> {
    const [trace] = await readTraces(this.#read, [id.replace(/^ent_/, '')])
    if (trace?.entityId === undefined) return undefined
    return (await readEntities(this.#read, [trace.entityId])).get(trace.entityId)
  }
}

const viewOf = (row: DiscoveryEntityRow, now: number) => {
  const description = describe(row)
  const sources = description.sources.map(({ module, at, ttl_s }) => ({
    module,
    at: Date.parse(at),
    ttl_s: ttl_s ?? undefined,
  }))
  return {
    entity_id: row.id,
    name: nameOf(description),
    device_type: row.type,
    risk_level: row.risk_level,
    confidence: confidenceOf(sources, now),
    is_present: row.is_present === 1,
    first_seen: new Date(row.first_at).toISOString(),
    last_seen: new Date(row.last_at).toISOString(),
    types: description.types,
    risk: description.risk,
    keys: description.keys,
    sources: description.sources,
    fields: description.fields as Record<string, unknown>,
  }
}

const deltaOf = ({ body_json, kind, ...row }: DiscoveryDeltaRow): Delta => ({
  ...JSON.parse(body_json),
  ...row,
  kind: kind as Delta['kind'],
})
