import type { Kysely } from 'kysely'
import {
  describeEntity,
  type EntityDescription,
} from '../../../discovery/entities/describe-entity.ts'
import type { Move } from '../../../discovery/entities/evidence-graph.ts'
import { KEY_KINDS, type SightingFacts, type SightingKey } from '../../../discovery/sighting.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { listAbsent } from '../modules/scanners.ts'
import { type DeltaDraft, listChanges } from './deltas.ts'
import { discoveryEntityTable, type StoredEntity } from './discovery-entity.table.ts'
import { discoveryPinTable, pinnedValues } from './discovery-pin.table.ts'
import { indexEntities, unindexEntity } from './entity-index.ts'
import { readInParts, readTracesOf, type StoredTrace } from './evidence-rows.ts'

/** Entities whose traces have changed, and what was seen now. */
interface TouchedEntities {
  ids: ReadonlySet<string>
  /** Entities with a sighting in this batch: they are present. */
  seen: ReadonlySet<string>
  moves: readonly Move[]
}

/** Describes entities again by their traces, stores them, and returns what has changed. */
export const refreshEntities = async (
  trx: SealedTrx,
  { ids, seen, moves }: TouchedEntities,
  now: number,
): Promise<DeltaDraft[]> => {
  const before = await readEntities(trx, ids)
  const traces = Map.groupBy(await readTracesOf(trx, ids), ({ entityId }) => entityId as string)
  const pinned = await readPinnedValues(trx, ids)
  const deltas: DeltaDraft[] = []
  const stored: StoredEntity[] = []
  for (const id of ids) {
    const [old, own] = [before.get(id), traces.get(id)]
    if (own === undefined) {
      if (old !== undefined) deltas.push(await removeMerged(trx, old, moves))
      continue
    }
    const next = toEntity(id, own, { old, isSeen: seen.has(id), pinned: pinned.get(id) ?? {}, now })
    deltas.push(...compareEntities(old, next, moves))
    await putEntity(trx, next)
    stored.push(next)
  }
  await indexEntities(trx, stored)
  return deltas
}

/** Marks those of the entities as absent that no scanner sees any more. */
export const markAbsent = async (trx: SealedTrx, ids: readonly string[]): Promise<DeltaDraft[]> => {
  const absent = await listAbsent(trx, [...new Set(ids)])
  const deltas: DeltaDraft[] = []
  for (const { id, type, isPresent, description } of (await readEntities(trx, absent)).values()) {
    if (!isPresent) continue
    await trx
      .updateTable('discovery_entities')
      .set(discoveryEntityTable.writeSome({ isPresent: false }))
      .where('id', '=', id)
      .execute()
    deltas.push({ ...draftOf(id, description), kind: 'disappeared', before: type })
  }
  return deltas
}

export const readEntities = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  ids: Iterable<string>,
): Promise<Map<string, StoredEntity>> => {
  const rows = await readInParts(ids, part =>
    db.selectFrom('discovery_entities').selectAll().where('id', 'in', part).execute(),
  )
  return new Map(rows.map(row => [row.id, discoveryEntityTable.read(row)]))
}

/** Name for people: what the thing calls itself, else its address. */
export const nameOf = ({ fields, keys }: EntityDescription): string | null => {
  const addresses = fields.ip_addresses?.value as string[] | undefined
  const name = fields.name?.value ?? fields.hostname?.value ?? addresses?.[0] ?? keys[0]?.value
  return typeof name === 'string' ? name : null
}

/** Values that operators have set, by entity, without those that cannot be read. */
const readPinnedValues = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  ids: Iterable<string>,
): Promise<Map<string, SightingFacts>> => {
  const rows = await readInParts(ids, part =>
    db
      .selectFrom('discovery_pins')
      .selectAll()
      .where('kind', '=', 'values')
      .where('entity_id', 'in', part)
      .execute(),
  )
  const pins = readEach(rows, discoveryPinTable.read, undefined)
  return new Map(pins.map(pin => [pin.entityId, pinnedValues(pin)]))
}

const toEntity = (
  id: string,
  traces: readonly StoredTrace[],
  {
    old,
    isSeen,
    pinned,
    now,
  }: { old: StoredEntity | undefined; isSeen: boolean; pinned: SightingFacts; now: number },
): StoredEntity => {
  const firstAt = Math.min(...traces.map(({ bornAt }) => bornAt))
  const lastAt = Math.max(...traces.map(each => each.lastAt))
  const claims = traces.flatMap(trace => trace.claims)
  const keys = traces.flatMap(trace => trace.keys)
  const description = describeEntity({ keys, claims, pinned, firstAt }, now)
  const modules = [...new Set(description.sources.map(({ module }) => module))].toSorted()
  return {
    id,
    type: description.types[0].type,
    riskLevel: description.risk.level,
    riskPoints: description.risk.points,
    sources: ` ${modules.join(' ')} `,
    isNew: description.risk.reasons.some(({ id }) => id === 'new_device'),
    isPresent: isSeen || old === undefined || old.isPresent,
    firstAt,
    lastAt,
    holder: findHolder(traces),
    keepRank: keepRankOf(keys, lastAt > firstAt),
    description,
  }
}

/** Cell that saw the oldest trace first; of a row of an older version that of the oldest claim. */
const findHolder = (traces: readonly StoredTrace[]): string => {
  const [founder] = traces.toSorted((a, b) => a.bornAt - b.bornAt || (a.id < b.id ? -1 : 1))
  return founder?.bornBy || (founder?.claims.at(-1)?.cellId ?? '')
}

/** Entities without a strong key go first, and of these the ones that were seen only once. */
const keepRankOf = (keys: readonly SightingKey[], isSeenAgain: boolean): number => {
  const isStrong = keys.some(({ kind }) => KEY_KINDS[kind] === 'strong')
  return (isStrong ? 2 : 0) + (isSeenAgain ? 1 : 0)
}

const compareEntities = (
  old: StoredEntity | undefined,
  next: StoredEntity,
  moves: readonly Move[],
): DeltaDraft[] => {
  const base = draftOf(next.id, next.description)
  if (old === undefined) {
    const from = moves.find(({ to, from }) => to === next.id && from !== undefined)?.from
    if (from !== undefined) return [{ ...base, kind: 'split', other_id: from }]
    return [{ ...base, kind: 'appeared', after: next.type }]
  }
  const again: DeltaDraft[] =
    !old.isPresent && next.isPresent ? [{ ...base, kind: 'appeared', after: next.type }] : []
  const changes = listChanges(old.description, next.description)
  return [...again, ...changes.map(change => ({ ...base, ...change, kind: 'changed' as const }))]
}

const removeMerged = async (
  trx: SealedTrx,
  old: StoredEntity,
  moves: readonly Move[],
): Promise<DeltaDraft> => {
  await deleteEntity(trx, old.id)
  const into = moves.find(({ from }) => from === old.id)?.to ?? null
  const kind = into === null ? 'erased' : 'merged'
  return { ...draftOf(old.id, old.description), kind, other_id: into }
}

/** Deletes an entity with everything by which it is found; its traces stay. */
export const deleteEntity = async (trx: SealedTrx, id: string): Promise<void> => {
  await trx.deleteFrom('discovery_entities').where('id', '=', id).execute()
  await unindexEntity(trx, id)
}

/** A delta of an entity without its kind. */
const draftOf = (entity_id: string, description: EntityDescription): Omit<DeltaDraft, 'kind'> => ({
  entity_id,
  field: null,
  before: null,
  after: null,
  other_id: null,
  name: nameOf(description),
})

const putEntity = async (trx: SealedTrx, entity: StoredEntity): Promise<void> => {
  const { id, ...values } = discoveryEntityTable.write(entity)
  await trx
    .insertInto('discovery_entities')
    .values({ id, ...values })
    .onConflict(conflict => conflict.column('id').doUpdateSet(values))
    .execute()
}
