import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import * as z from 'zod'
import { json } from '../../kernel/store/columns.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { DeltaBody, discoveryDeltaTable } from './discovery-delta.table.ts'
import { discoveryEntityTable } from './discovery-entity.table.ts'
import { discoveryTraceTable } from './discovery-trace.table.ts'
import { indexEntities } from './entity-index.ts'
import { readEntities } from './entity-rows.ts'
import type { Mentions } from './mentions.ts'

/* Erasure of an entity from what is stored of others: their deltas, facts, and events. */

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Rows per transaction, so that other writes do not wait for long. */
const PAGE = 500

/** Erases an entity from the deltas of others after a number; returns the newest number. */
export const eraseFromDeltas = async (
  ledger: Pick<Ledger, 'read' | 'sealed'>,
  mentions: Mentions,
): Promise<number> => {
  for (let after = 0; ; ) {
    const rows = await readDeltas(ledger.read, after)
    await ledger.sealed.write(trx => blankDeltas(trx, rows, mentions))
    after = rows.at(-1)?.seq ?? after
    if (rows.length < PAGE) return after
  }
}

/** Erases an entity from the deltas since `eraseFromDeltas`, in the transaction of the erasure. */
export const eraseFromNewDeltas = async (
  trx: SealedTrx,
  mentions: Mentions,
  after: number,
): Promise<void> => {
  for (let from = after; ; ) {
    const rows = await readDeltas(trx, from)
    await blankDeltas(trx, rows, mentions)
    from = rows.at(-1)?.seq ?? from
    if (rows.length < PAGE) return
  }
}

const readDeltas = (db: Reading, after: number) =>
  db
    .selectFrom('discovery_deltas')
    .select(['seq', 'body_json'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(PAGE)
    .execute()

const blankDeltas = async (
  trx: SealedTrx,
  rows: readonly { seq: number; body_json: string }[],
  mentions: Mentions,
): Promise<void> => {
  for (const row of rows) {
    const { seq, body } = discoveryDeltaTable.readSome(row)
    const next = blankDelta(body, mentions)
    if (isDeepStrictEqual(body, next)) continue
    await trx
      .updateTable('discovery_deltas')
      .set(discoveryDeltaTable.writeSome({ body: next }))
      .where('seq', '=', seq)
      .execute()
  }
}

/** Copies a delta of another entity without values that mention the erased one. */
const blankDelta = <D extends DeltaBody>(delta: D, mentions: Mentions): D => {
  const { field, before, after, other_id, name } = delta
  const isMentioned = (value: unknown): boolean =>
    !isDeepStrictEqual(mentions.drop(value, field === 'neighbours'), value)
  const isBlank = [before, after].some(isMentioned)
  return {
    ...delta,
    ...(isBlank && { before: null, after: null }),
    other_id: other_id !== null && mentions.isIn(other_id) ? null : other_id,
    name: name !== null && mentions.isIn(name) ? null : name,
  }
}

/** Erases an entity from the facts of others, such as the neighbours of a switch, and their words. */
export const eraseFromOthers = async (
  ledger: Pick<Ledger, 'sealed'>,
  mentions: Mentions,
  isOwn: (entityId: string) => boolean,
): Promise<void> => {
  const { claims_json } = discoveryTraceTable.columns
  const { description_json } = discoveryEntityTable.columns
  const tables = [
    ['discovery_traces', 'claims_json', claims_json, 'entity_id'],
    ['discovery_entities', 'description_json', description_json, 'id'],
  ] as const
  for (const [table, column, codec, owner] of tables)
    for (let after = ''; ; ) {
      const rows = await ledger.sealed.write(async trx => {
        const page = await trx
          .selectFrom(table)
          .select(['id', `${column} as text`, `${owner} as owner`] as never)
          .where('id', '>', after)
          .orderBy('id')
          .limit(PAGE)
          .$castTo<{ id: string; text: string; owner: string }>()
          .execute()
        const changed: string[] = []
        for (const { id, text, owner: entityId } of page) {
          if (isOwn(entityId)) continue
          const known = codec.read(text)
          const next = dropFrom(known, mentions)
          if (isDeepStrictEqual(known, next)) continue
          const change = { [column]: JSON.stringify(next) }
          await trx.updateTable(table).set(change).where('id', '=', id).execute()
          changed.push(id)
        }
        if (table === 'discovery_entities')
          await indexEntities(trx, [...(await readEntities(trx, changed)).values()])
        return page
      })
      after = rows.at(-1)?.id ?? after
      if (rows.length < PAGE) break
    }
}

/**
 * Fields that the coordinator fills itself. Their words may equal the serial number of an erased entity,
 * such as `unknown` and `none`. Keys belong to the other entity too.
 */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['keys', 'module', 'source', 'at', 'type', 'level', 'id'],
])
/** Fields whose content was found, whatever the names in it are. */
const FOUND_FIELDS: ReadonlySet<string> = new Set(['value', 'facts'])

/** Drops mentions from claims or a description. */
const dropFrom = (known: unknown, mentions: Mentions, isNeighbours = false): unknown => {
  if (Array.isArray(known))
    return known
      .map(each => dropFrom(each, mentions, isNeighbours))
      .filter(each => each !== undefined)
  if (typeof known !== 'object' || known === null) return mentions.drop(known, isNeighbours)
  const entries = Object.entries(known).map(([name, each]) => {
    const isOfNeighbours = isNeighbours || name === 'neighbours'
    if (OWN_FIELDS.has(name)) return [name, each] as const
    if (FOUND_FIELDS.has(name)) return [name, mentions.drop(each, isOfNeighbours)] as const
    return [name, dropFrom(each, mentions, isOfNeighbours)] as const
  })
  return Object.fromEntries(entries.filter(([, each]) => each !== undefined))
}

/**
 * Erases an entity from stored events after a number; returns the newest number. Their numbers, types
 * and times stay.
 */
export const eraseFromEvents = async (
  ledger: Pick<Ledger, 'read' | 'sealed'>,
  mentions: Mentions,
  isOwn: (entityId: string) => boolean,
): Promise<number> => {
  for (let after = 0; ; ) {
    const rows = await readEvents(ledger.read, after)
    await ledger.sealed.write(trx => blankEvents(trx, rows, mentions, isOwn))
    after = rows.at(-1)?.seq ?? after
    if (rows.length < PAGE) return after
  }
}

/** Erases an entity from the events since `eraseFromEvents`, in the transaction of the erasure. */
export const eraseFromNewEvents = async (
  trx: SealedTrx,
  mentions: Mentions,
  isOwn: (entityId: string) => boolean,
  after: number,
): Promise<void> => {
  for (let from = after; ; ) {
    const rows = await readEvents(trx, from)
    await blankEvents(trx, rows, mentions, isOwn)
    from = rows.at(-1)?.seq ?? from
    if (rows.length < PAGE) return
  }
}

const readEvents = (db: Reading, after: number) =>
  db
    .selectFrom('events')
    .select(['seq', 'data_json'])
    .where('seq', '>', after)
    .where('type', 'like', 'shoal.discovery.%')
    .orderBy('seq')
    .limit(PAGE)
    .execute()

const blankEvents = async (
  trx: SealedTrx,
  rows: readonly { seq: number; data_json: string }[],
  mentions: Mentions,
  isOwn: (entityId: string) => boolean,
): Promise<void> => {
  for (const { seq, data_json } of rows) {
    const data = EVENT_DATA.read(data_json)
    const next = blankEvent(data, mentions, isOwn)
    if (isDeepStrictEqual(data, next)) continue
    await trx
      .updateTable('events')
      .set({ data_json: JSON.stringify(next) })
      .where('seq', '=', seq)
      .execute()
  }
}

const EventData = z.looseObject({
  deltas: z.array(DeltaBody.extend({ entity_id: z.string() }).loose()).optional(),
})
const EVENT_DATA = json(EventData)

const blankEvent = (
  data: z.infer<typeof EventData>,
  mentions: Mentions,
  isOwn: (entityId: string) => boolean,
): unknown => {
  if (data.deltas === undefined) return mentions.drop(data)
  const others = data.deltas.filter(({ entity_id }) => !isOwn(entity_id))
  return { ...data, deltas: others.map(delta => blankDelta(delta, mentions)) }
}
