import { DAY_MS } from '../../../shared/time.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import { countAll } from '../../kernel/store/count.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { Publish } from './entity-recorder.ts'
import { refreshEntities } from './entity-rows.ts'
import { deleteTraces, readTracesOf } from './evidence-rows.ts'

/** Bounds of the stored entities, traces and deltas. */
export interface EntityLimits {
  /** Most entities; those of the cell in whose share most count go. */
  maxEntities: number
  /** Time for which a trace is kept that nobody sees any more. */
  keepTracesMs: number
  /** Time for which deltas are kept. */
  keepDeltasMs: number
  /** Most deltas; the oldest go. */
  maxDeltas: number
}

interface UpkeepParts {
  publish: Publish
  limits: EntityLimits
  now: number
}

/** Rows per transaction, so that none holds the sealed lane for long. */
const AT_ONCE = 500
const SCANNERS_AT_ONCE = 20

/** What one call has done; `excess` are entities of one cell that were too many. */
interface Upkeep {
  isDone: boolean
  excess: { holder: string; entities: number } | undefined
}

/** Deletes expired and surplus rows of discovery, a part of them per call. */
export const tidyEntities = async (
  ledger: Pick<Ledger, 'sealed'>,
  parts: UpkeepParts,
): Promise<Upkeep> =>
  ledger.sealed.write(async trx => {
    const isMore = [
      await deleteOldDeltas(trx, parts),
      await deleteOldTraces(trx, parts),
      await deleteScanners(trx, parts),
      await ageEntities(trx, parts),
    ]
    const excess = await deleteExcess(trx, parts)
    return { isDone: excess === undefined && !isMore.includes(true), excess }
  })

const deleteOldDeltas = async (trx: SealedTrx, { limits, now }: UpkeepParts): Promise<boolean> => {
  const newest = await trx
    .selectFrom('discovery_deltas')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .executeTakeFirst()
  const before = now - limits.keepDeltasMs
  const upTo = Number(newest?.seq ?? 0) - limits.maxDeltas
  const oldest = await trx
    .selectFrom('discovery_deltas')
    .select(['seq', 'at'])
    .orderBy('seq')
    .limit(AT_ONCE)
    .execute()
  const old = oldest.filter(({ seq, at }) => at < before || seq <= upTo).map(({ seq }) => seq)
  if (old.length > 0) await trx.deleteFrom('discovery_deltas').where('seq', 'in', old).execute()
  return old.length === AT_ONCE
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

/** Scanners of cells that were removed, and those that have not run within the retention. */
const deleteScanners = async (trx: SealedTrx, { limits, now }: UpkeepParts): Promise<boolean> => {
  const before = now - limits.keepTracesMs
  const rows = await trx
    .selectFrom('discovery_scanners')
    .select('id')
    .where(row =>
      row.or([
        row.and([row('at', '<', before), row('newest_started_at', '<', before)]),
        row(
          'cell_id',
          'in',
          row.selectFrom('cells').select('cells.id').where('revoked_at', 'is not', null),
        ),
      ]),
    )
    .limit(SCANNERS_AT_ONCE)
    .execute()
  if (rows.length === 0) return false
  const ids = rows.map(({ id }) => id)
  await trx.deleteFrom('discovery_seen').where('scanner_id', 'in', ids).execute()
  await trx.deleteFrom('discovery_scanners').where('id', 'in', ids).execute()
  return rows.length === SCANNERS_AT_ONCE
}

/** The excess comes from the cell in whose share most entities count, so that no cell displaces others. */
const deleteExcess = async (trx: SealedTrx, parts: UpkeepParts): Promise<Upkeep['excess']> => {
  const shares = await trx
    .selectFrom('discovery_entities')
    .groupBy('holder')
    .select(['holder', countAll.as('count')])
    .execute()
  const excess = shares.reduce((sum, { count }) => sum + count, 0) - parts.limits.maxEntities
  const [largest] = shares.toSorted((a, b) => b.count - a.count)
  if (excess <= 0 || largest === undefined) return undefined
  const rows = await trx
    .selectFrom('discovery_entities')
    .select('id')
    .where('holder', '=', largest.holder)
    .orderBy('keep_rank')
    .orderBy('last_at')
    .limit(Math.min(AT_ONCE, excess))
    .execute()
  const ids = new Set(rows.map(({ id }) => id))
  const traces = await readTracesOf(trx, ids)
  const traceIds = traces.map(({ id }) => id)
  for (const part of splitList(traceIds, AT_ONCE)) await deleteTraces(trx, part)
  await publishRefresh(trx, ids, parts)
  return { holder: largest.holder, entities: rows.length }
}

/** Judges entities again whose first day has just ended: they are new no more. */
const ageEntities = async (trx: SealedTrx, parts: UpkeepParts): Promise<boolean> => {
  const rows = await trx
    .selectFrom('discovery_entities')
    .select('id')
    .where('is_new', '=', 1)
    .where('first_at', '<', parts.now - DAY_MS)
    .limit(AT_ONCE)
    .execute()
  if (rows.length > 0) await publishRefresh(trx, new Set(rows.map(({ id }) => id)), parts)
  return rows.length === AT_ONCE
}

const publishRefresh = async (
  trx: SealedTrx,
  ids: ReadonlySet<string>,
  { publish, now }: UpkeepParts,
): Promise<void> =>
  publish(trx, await refreshEntities(trx, { ids, seen: new Set(), moves: [] }, now))
