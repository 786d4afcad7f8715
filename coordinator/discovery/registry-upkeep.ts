import type { Ledger, SealedTrx } from '../store/store.ts'
import type { DeltaDraft } from './deltas.ts'
import { refreshEntities } from './registry-entities.ts'
import { deleteTraces, readTracesOf } from './registry-rows.ts'

/** Bounds of what the registry keeps. */
export interface RegistryLimits {
  /** Most entities; those that were seen least recently go. */
  maxEntities: number
  /** Time for which a trace is kept that nobody sees any more. */
  keepTracesMs: number
  /** Time for which deltas are kept. */
  keepDeltasMs: number
  /** Most deltas; the oldest go. */
  maxDeltas: number
}

interface UpkeepParts {
  publish: (trx: SealedTrx, drafts: readonly DeltaDraft[]) => Promise<void>
  limits: RegistryLimits
  now: number
}

/** Rows per transaction, so that none holds the sealed lane for long. */
const AT_ONCE = 500
const DAY_MS = 86_400_000

/** Deletes what is old or too much, a part per call; true when there is more of it. */
export const tidyRegistry = async (
  ledger: Pick<Ledger, 'sealed'>,
  parts: UpkeepParts,
): Promise<boolean> =>
  ledger.sealed.write(async trx => {
    const deltas = await deleteOldDeltas(trx, parts)
    const traces = await deleteOldTraces(trx, parts)
    const entities = await deleteExcess(trx, parts)
    await ageEntities(trx, parts)
    return deltas || traces || entities
  })

const deleteOldDeltas = async (trx: SealedTrx, { limits, now }: UpkeepParts): Promise<boolean> => {
  const newest = await trx
    .selectFrom('discovery_deltas')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .executeTakeFirst()
  const before = now - limits.keepDeltasMs
  const upTo = Number(newest?.seq ?? 0) - limits.maxDeltas
  await trx
    .deleteFrom('discovery_deltas')
    .where(row => row.or([row('at', '<', before), row('seq', '<=', upTo)]))
    .execute()
  return false
}

/** A trace that nobody sees any more takes its keys and addresses with it. */
const deleteOldTraces = async (trx: SealedTrx, parts: UpkeepParts): Promise<boolean> => {
  const rows = await trx
    .selectFrom('discovery_traces')
    .select(['id', 'entity_id', 'founded_id'])
    .where('last_at', '<', parts.now - parts.limits.keepTracesMs)
    .orderBy('last_at')
    .limit(AT_ONCE)
    .execute()
  if (rows.length === 0) return false
  await deleteTraces(
    trx,
    rows.map(({ id }) => id),
  )
  const ids = new Set(rows.map(({ entity_id }) => entity_id))
  await passFoundations(trx, ids)
  await publishRefresh(trx, ids, parts)
  return rows.length === AT_ONCE
}

/** An entity keeps its id when its oldest trace goes: the next one takes its place. */
const passFoundations = async (trx: SealedTrx, ids: ReadonlySet<string>): Promise<void> => {
  const traces = Map.groupBy(await readTracesOf(trx, ids), ({ entityId }) => entityId as string)
  for (const [id, own] of traces) {
    const [oldest] = own.toSorted((a, b) => a.bornAt - b.bornAt || (a.id < b.id ? -1 : 1))
    if (oldest === undefined || oldest.foundedId === id) continue
    await trx
      .updateTable('discovery_traces')
      .set({ founded_id: id })
      .where('id', '=', oldest.id)
      .execute()
  }
}

const deleteExcess = async (trx: SealedTrx, parts: UpkeepParts): Promise<boolean> => {
  const rows = await trx
    .selectFrom('discovery_entities')
    .select('id')
    .orderBy('last_at', 'desc')
    .orderBy('id')
    .offset(parts.limits.maxEntities)
    .limit(AT_ONCE)
    .execute()
  if (rows.length === 0) return false
  const ids = new Set(rows.map(({ id }) => id))
  const traces = await readTracesOf(trx, ids)
  for (let at = 0; at < traces.length; at += AT_ONCE)
    await deleteTraces(
      trx,
      traces.slice(at, at + AT_ONCE).map(({ id }) => id),
    )
  await publishRefresh(trx, ids, parts)
  return rows.length === AT_ONCE
}

/** Judges entities again whose first day has just ended: they are new no more. */
const ageEntities = async (trx: SealedTrx, parts: UpkeepParts): Promise<void> => {
  const rows = await trx
    .selectFrom('discovery_entities')
    .select('id')
    .where('first_at', '<', parts.now - DAY_MS)
    .where('first_at', '>', parts.now - 2 * DAY_MS)
    .where('risk_points', '>', 0)
    .where('description_json', 'like', '%"new_device"%')
    .limit(AT_ONCE)
    .execute()
  if (rows.length > 0) await publishRefresh(trx, new Set(rows.map(({ id }) => id)), parts)
}

const publishRefresh = async (
  trx: SealedTrx,
  ids: ReadonlySet<string>,
  { publish, now }: UpkeepParts,
): Promise<void> =>
  publish(trx, await refreshEntities(trx, { ids, seen: new Set(), moves: [] }, now))
