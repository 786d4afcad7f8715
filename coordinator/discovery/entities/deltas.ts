import { isDeepStrictEqual } from 'node:util'
import type { EntityDescription } from '../../../discovery/entities/describe-entity.ts'
import type { ResolvedFields } from '../../../discovery/entities/resolve-fields.ts'
import { iso } from '../../../shared/time.ts'
import type { EntityOf, RowOf } from '../../kernel/store/define-table.ts'
import { takeNumbers } from '../../kernel/store/sequences.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { type DeltaBody, discoveryDeltaTable } from './discovery-delta.table.ts'

/** Type of the events that report deltas. */
export const DELTA_EVENT = 'shoal.discovery.delta'

type StoredDelta = EntityOf<typeof discoveryDeltaTable>

/** A change of the inventory before it has its number, with the names of its answers. */
export interface DeltaDraft extends DeltaBody {
  kind: StoredDelta['kind']
  entity_id: string
}

/** A stored change of the inventory. */
export interface Delta extends DeltaDraft, Pick<StoredDelta, 'seq' | 'at'> {}

/** Fields that vary from one sighting to the next and say nothing about the inventory. */
const NOISE: ReadonlySet<string> = new Set(['signal_dbm', 'battery_percent'])

/** Most changed fields that are reported of one entity at once. */
const MAX_CHANGES = 24

/** Changes of what is known of an entity, by field; then those of its type and its risk. */
export const listChanges = (
  before: EntityDescription,
  after: EntityDescription,
): Pick<DeltaDraft, 'field' | 'before' | 'after' | 'is_truncated'>[] => {
  const names = Object.keys({ ...before.fields, ...after.fields }).filter(name => !NOISE.has(name))
  const fields = names.map(field => ({
    field,
    before: readValue(before.fields, field),
    after: readValue(after.fields, field),
  }))
  return [
    { field: 'device_type', before: before.types[0].type, after: after.types[0].type },
    { field: 'risk_level', before: before.risk.level, after: after.risk.level },
    ...fields,
  ]
    .filter(change => !isDeepStrictEqual(change.before, change.after))
    .slice(0, MAX_CHANGES)
    .map(change => ({ ...change, ...limitValues(change.before, change.after) }))
}

const readValue = (fields: ResolvedFields, name: string): unknown =>
  fields[name as keyof ResolvedFields]?.value ?? null

/** Most bytes of the value before or after a change, as JSON. */
const MAX_VALUE_BYTES = 2048

const limitValues = (
  before: unknown,
  after: unknown,
): Pick<DeltaDraft, 'before' | 'after' | 'is_truncated'> => {
  if (bytesOf(before) <= MAX_VALUE_BYTES && bytesOf(after) <= MAX_VALUE_BYTES)
    return { before, after }
  const [old, next] = [without(before, after), without(after, before)]
  return { before: cutValue(old), after: cutValue(next), is_truncated: true }
}

/** Items of a list that another one lacks; other values as they are. */
const without = (value: unknown, other: unknown): unknown => {
  if (!Array.isArray(value) || !Array.isArray(other)) return value
  const known = new Set(other.map(item => JSON.stringify(item)))
  return value.filter(item => !known.has(JSON.stringify(item)))
}

/** The first items or characters that fit; null for an object that does not fit. */
const cutValue = (value: unknown): unknown => {
  if (bytesOf(value) <= MAX_VALUE_BYTES) return value
  // a character of JSON takes at most six bytes
  if (typeof value === 'string') return value.slice(0, MAX_VALUE_BYTES / 6).toWellFormed()
  return Array.isArray(value) ? takeWithin(value, MAX_VALUE_BYTES) : null
}

/** The first items whose JSON fits into a number of bytes. */
const takeWithin = <T>(items: readonly T[], maxBytes: number): T[] => {
  let bytes = 2
  const end = items.findIndex(item => {
    bytes += bytesOf(item) + 1
    return bytes > maxBytes
  })
  return items.slice(0, end < 0 ? items.length : end)
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Numbers and stores deltas, in the transaction of the change that they report. */
export const addDeltas = async (
  trx: SealedTrx,
  drafts: readonly DeltaDraft[],
  at: number,
): Promise<Delta[]> => {
  if (drafts.length === 0) return []
  const last = await takeNumbers(trx, 'discovery', drafts.length)
  const deltas = drafts.map((draft, n) => ({ ...draft, seq: last - drafts.length + 1 + n, at }))
  const rows = deltas.map(({ seq, at, kind, entity_id: entityId, ...body }) =>
    discoveryDeltaTable.write({ seq, at, kind, entityId, body }),
  )
  for (let first = 0; first < rows.length; first += 500)
    await trx
      .insertInto('discovery_deltas')
      .values(rows.slice(first, first + 500))
      .execute()
  return deltas
}

export const readDelta = (row: RowOf<typeof discoveryDeltaTable>): Delta => {
  const { body, entityId, ...numbered } = discoveryDeltaTable.read(row)
  return { ...body, ...numbered, entity_id: entityId }
}

/** Most deltas of one event, and most bytes; readers fetch the others by their numbers. */
const MAX_EVENT_DELTAS = 50
const MAX_EVENT_BYTES = 64 * 1024

/** Data of the event that reports deltas. */
export const eventOf = (deltas: readonly Delta[]) => ({
  first_seq: deltas[0]?.seq ?? 0,
  last_seq: deltas.at(-1)?.seq ?? 0,
  count: deltas.length,
  deltas: takeWithin(deltas.slice(0, MAX_EVENT_DELTAS), MAX_EVENT_BYTES).map(
    ({ at, ...delta }) => ({ ...delta, at: iso(at) }),
  ),
})
