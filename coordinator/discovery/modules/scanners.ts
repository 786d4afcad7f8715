import type { SealedTrx } from '../../kernel/store/store.ts'
import { readInParts } from '../entities/evidence-rows.ts'
import type { RecordedRows, Recording } from '../entities/findings-sink.ts'
import { discoveryScannerTable, type StoredScanner } from './discovery-scanner.table.ts'

/** A module on a cell with one input. */
export interface Scanner {
  id: string
  cellId: string | undefined
  module: string
}

/** Completed runs in a row that must miss a thing before it counts as absent. */
const MISSED_RUNS = 3

export const scannerOf = (
  cellId: string | undefined,
  module: string,
  inputHash: string,
): Scanner => ({ id: `${cellId ?? ''} ${module} ${inputHash}`, cellId, module })

/** One part of a run. */
type RunPart = Pick<RecordedRows, 'runId' | 'part' | 'startedAt' | 'outcome'>

/**
 * Compares a part with what is stored of its scanner. It is late when its run started before the
 * newest one: it says nothing about what is there now.
 */
export const judgePart = (
  known: StoredScanner | undefined,
  { runId, part, startedAt }: RunPart,
): Recording => {
  if (known === undefined) return 'new'
  if (runId === known.newestRunId) return part < known.newestParts ? 'stored' : 'new'
  if (runId === known.runId) return 'stored'
  return startedAt < known.newestStartedAt ? 'late' : 'new'
}

export const readScanner = async (
  trx: SealedTrx,
  { id }: Scanner,
): Promise<StoredScanner | undefined> => {
  const query = trx.selectFrom('discovery_scanners').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row && discoveryScannerTable.read(row)
}

/** Records that the run after `runs` saw traces; traces that said goodbye count as missed. */
export const noteSeen = async (
  trx: SealedTrx,
  scanner: Scanner,
  { present, gone }: { present: readonly string[]; gone: readonly string[] },
  runs: number,
): Promise<void> => {
  await putSeen(trx, scanner, present, runs + 1)
  await putSeen(trx, scanner, gone, runs - MISSED_RUNS)
}

/** Records the traces that a late run saw; facts of traces that are already known stay unchanged. */
export const noteSeenLate = async (
  trx: SealedTrx,
  { id }: Scanner,
  present: readonly string[],
  runs: number,
): Promise<void> => {
  for (let at = 0; at < present.length; at += 300)
    await trx
      .insertInto('discovery_seen')
      .values(
        present.slice(at, at + 300).map(trace_id => ({ scanner_id: id, trace_id, run: runs })),
      )
      .onConflict(conflict => conflict.doNothing())
      .execute()
}

/**
 * Records that a part of the newest run is stored. When that completes the run, returns the traces
 * that the scanner has now missed in enough completed runs. A run with a lost part misses nothing.
 */
export const storePart = async (
  trx: SealedTrx,
  { id, cellId, module }: Scanner,
  known: StoredScanner | undefined,
  { runId, part, startedAt, outcome, now }: RunPart & { now: number },
): Promise<string[]> => {
  const before = known?.newestRunId === runId ? known : undefined
  const isWhole = part === (before?.newestParts ?? 0) && before?.newestIsWhole !== false
  const isComplete = isWhole && outcome === 'complete'
  const runs = (known?.runs ?? 0) + (isComplete ? 1 : 0)
  const row = discoveryScannerTable.write({
    id,
    cellId: cellId ?? '',
    module,
    runId: isComplete ? runId : (known?.runId ?? ''),
    runs,
    at: isComplete ? now : (known?.at ?? now),
    newestRunId: runId,
    newestStartedAt: startedAt,
    newestParts: part + 1,
    newestIsWhole: isWhole,
  })
  await trx
    .insertInto('discovery_scanners')
    .values(row)
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
  if (!isComplete) return []
  const missed = trx.selectFrom('discovery_seen').select('trace_id').where('scanner_id', '=', id)
  const rows = await missed.where('run', '=', runs - MISSED_RUNS).execute()
  return rows.map(({ trace_id }) => trace_id)
}

/** Entities among those given that no scanner sees any more. */
export const listAbsent = async (
  trx: SealedTrx,
  entityIds: readonly string[],
): Promise<string[]> => {
  const seen = await readInParts(entityIds, part =>
    trx
      .selectFrom('discovery_traces')
      .innerJoin('discovery_seen', 'discovery_seen.trace_id', 'discovery_traces.id')
      .leftJoin('discovery_scanners', 'discovery_scanners.id', 'discovery_seen.scanner_id')
      .select(['entity_id', 'run', 'runs'])
      .where('entity_id', 'in', part)
      .execute(),
  )
  const present = new Set(
    seen
      .filter(({ run, runs }) => run > (runs ?? 0) - MISSED_RUNS)
      .map(({ entity_id }) => entity_id),
  )
  return entityIds.filter(id => !present.has(id))
}

const putSeen = async (
  trx: SealedTrx,
  { id }: Scanner,
  ids: readonly string[],
  run: number,
): Promise<void> => {
  for (let at = 0; at < ids.length; at += 300)
    await trx
      .insertInto('discovery_seen')
      .values(ids.slice(at, at + 300).map(trace_id => ({ scanner_id: id, trace_id, run })))
      .onConflict(conflict => conflict.columns(['scanner_id', 'trace_id']).doUpdateSet({ run }))
      .execute()
}
