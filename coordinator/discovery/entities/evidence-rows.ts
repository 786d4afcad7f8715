import { type Kysely, sql } from 'kysely'
import type { FactClaim } from '../../../discovery/entities/claim.ts'
import { listConnections, listSiteAddresses } from '../../../discovery/entities/evidence-graph.ts'
import type { Link } from '../../../discovery/entities/link.ts'
import type { IdentityPin } from '../../../discovery/entities/pin.ts'
import type { Trace } from '../../../discovery/entities/trace.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { discoveryLinkTable } from './discovery-link.table.ts'
import { discoveryPinTable, mayConcern, pinnedTraces } from './discovery-pin.table.ts'
import { discoveryTraceTable } from './discovery-trace.table.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** A trace with what its sightings said. */
export interface StoredTrace extends Trace {
  claims: readonly FactClaim[]
  lastAt: number
}

type LinkedPair = Pick<Link, 'a' | 'b'>

/** Values per statement: the number of its parameters is limited. */
const AT_ONCE = 500

/** Calls a query for the values in parts and joins its rows. */
export const readInParts = async <V, R>(
  values: Iterable<V>,
  query: (part: V[]) => Promise<R[]>,
): Promise<R[]> => {
  const rows: R[] = []
  for (const part of splitList([...new Set(values)], AT_ONCE)) rows.push(...(await query(part)))
  return rows
}

export const readTraces = async (db: Reading, ids: Iterable<string>): Promise<StoredTrace[]> =>
  (
    await readInParts(ids, part =>
      db.selectFrom('discovery_traces').selectAll().where('id', 'in', part).execute(),
    )
  ).map(discoveryTraceTable.read)

export const readTracesOf = async (
  db: Reading,
  entityIds: Iterable<string>,
): Promise<StoredTrace[]> =>
  (
    await readInParts(entityIds, part =>
      db.selectFrom('discovery_traces').selectAll().where('entity_id', 'in', part).execute(),
    )
  ).map(discoveryTraceTable.read)

/**
 * Ids of the traces that have one of the names: of each name those that were seen last. Ends when it
 * has found more than `limit`.
 */
export const readTraceIds = async (
  db: Reading,
  names: readonly string[],
  { perName, limit }: { perName: number; limit: number },
): Promise<string[]> => {
  const ids = new Set<string>()
  for (let at = 0; at < names.length && ids.size <= limit; at += AT_ONCE) {
    const part = names.slice(at, at + AT_ONCE)
    const rows = await db
      .selectFrom(table =>
        table
          .selectFrom('discovery_trace_names')
          .innerJoin('discovery_traces', 'discovery_traces.id', 'trace_id')
          .where('name', 'in', part)
          .select(({ fn }) => [
            'trace_id',
            fn
              .agg<number>('row_number')
              .over(window => window.partitionBy('name').orderBy('last_at', 'desc'))
              .as('place'),
          ])
          .as('named'),
      )
      .select('trace_id')
      .distinct()
      .where('place', '<=', perName)
      .limit(limit + 1)
      .execute()
    for (const { trace_id } of rows) ids.add(trace_id)
  }
  return [...ids]
}

/** Characters of what is stored of each trace, by its id. */
export const readTraceLengths = async (
  db: Reading,
  ids: Iterable<string>,
): Promise<Map<string, number>> => {
  const length = sql<number>`length(claims_json) + length(keys_json) + length(spans_json)`
  const rows = await readInParts(ids, part =>
    db
      .selectFrom('discovery_traces')
      .select(['id', length.as('length')])
      .where('id', 'in', part)
      .execute(),
  )
  return new Map(rows.map(row => [row.id, Number(row.length)]))
}

/** Links of traces, at most `limit`; `unread` are the pairs whose links cannot be read. */
export const readLinks = async (
  db: Reading,
  ids: readonly string[],
  limit: number,
): Promise<{ links: Link[]; unread: LinkedPair[] }> => {
  const links: Link[] = []
  const unread: LinkedPair[] = []
  for (let at = 0; at < ids.length && links.length + unread.length < limit; at += AT_ONCE) {
    const part = ids.slice(at, at + AT_ONCE)
    const query = db
      .selectFrom('discovery_links')
      .selectAll()
      .where(row => row.or([row('a', 'in', part), row('b', 'in', part)]))
    const rows = await query.limit(limit - links.length - unread.length).execute()
    for (const row of rows) {
      const [link] = readEach([row], discoveryLinkTable.read, undefined)
      if (link === undefined) unread.push({ a: row.a, b: row.b })
      else links.push(link)
    }
  }
  return { links, unread }
}

/**
 * Decisions about identity. `findHolder` returns the id of one that cannot be read and may be about
 * a trace: it may keep traces apart, so nothing around it may be joined or divided.
 */
export const readIdentityPins = async (
  db: Reading,
): Promise<{ pins: IdentityPin[]; findHolder: (trace: Trace) => string | undefined }> => {
  const query = db.selectFrom('discovery_pins').selectAll().where('kind', '!=', 'values')
  const rows = await query.orderBy('id').execute()
  const pins = readEach(rows, toIdentityPin, undefined)
  const known = new Set(pins.map(({ id }) => id))
  const unread = rows.filter(({ id }) => !known.has(id))
  return { pins, findHolder: trace => unread.find(row => mayConcern(row, trace))?.id }
}

const toIdentityPin = (row: RowOf<typeof discoveryPinTable>): IdentityPin => {
  const pin = discoveryPinTable.read(row)
  const { traces, others } = pinnedTraces(pin)
  return pin.kind === 'apart'
    ? { id: pin.id, kind: 'apart', traces, others }
    : { id: pin.id, kind: 'together', traces }
}

export const putTrace = async (trx: SealedTrx, trace: StoredTrace): Promise<void> => {
  const entityId = trace.entityId ?? trace.foundedId
  const { id, ...values } = discoveryTraceTable.write({ ...trace, entityId })
  await trx
    .insertInto('discovery_traces')
    .values({ id, ...values })
    .onConflict(conflict => conflict.column('id').doUpdateSet(values))
    .execute()
}

export const putTraceNames = async (trx: SealedTrx, trace: Trace): Promise<void> => {
  const names = new Set([...listConnections(trace), ...listSiteAddresses(trace)])
  if (names.size === 0) return
  await trx
    .insertInto('discovery_trace_names')
    .values([...names].map(name => ({ name, trace_id: trace.id })))
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

export const putLink = async (trx: SealedTrx, link: Link): Promise<void> => {
  const { a, b, ...values } = discoveryLinkTable.write(link)
  await trx
    .insertInto('discovery_links')
    .values({ a, b, ...values })
    .onConflict(conflict => conflict.columns(['a', 'b']).doUpdateSet(values))
    .execute()
}

/** Deletes traces with everything that names them. */
export const deleteTraces = async (trx: SealedTrx, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return
  await trx.deleteFrom('discovery_trace_names').where('trace_id', 'in', ids).execute()
  await trx.deleteFrom('discovery_seen').where('trace_id', 'in', ids).execute()
  await trx.deleteFrom('discovery_key_alarms').where('trace_id', 'in', ids).execute()
  await trx.deleteFrom('discovery_links').where('a', 'in', ids).execute()
  await trx.deleteFrom('discovery_links').where('b', 'in', ids).execute()
  await trx.deleteFrom('discovery_traces').where('id', 'in', ids).execute()
}
