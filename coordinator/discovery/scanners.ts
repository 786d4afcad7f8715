import type { SealedTrx } from '../store/store.ts'
import { readInParts } from './registry-rows.ts'

/** A module on a cell with one input. */
export interface Scanner {
  id: string
  cellId: string | undefined
  module: string
}

/** Completed runs in a row that must miss a thing before it counts as absent. */
export const MISSED_RUNS = 3

export const scannerOf = (
  cellId: string | undefined,
  module: string,
  inputHash: string,
): Scanner => ({ id: `${cellId ?? ''} ${module} ${inputHash}`, cellId, module })

/** Notes that the current run of a scanner saw traces; those that it said goodbye to it forgets. */
export const noteSeen = async (
  trx: SealedTrx,
  scanner: Scanner,
  seen: { present: readonly string[]; gone: readonly string[] },
): Promise<void> => {
  const runs = await countRuns(trx, scanner)
  const put = async (ids: readonly string[], run: number): Promise<void> => {
    for (let at = 0; at < ids.length; at += 300)
      await trx
        .insertInto('discovery_seen')
        .values(
          ids.slice(at, at + 300).map(trace_id => ({ scanner_id: scanner.id, trace_id, run })),
        )
        .onConflict(conflict => conflict.columns(['scanner_id', 'trace_id']).doUpdateSet({ run }))
        .execute()
  }
  await put(seen.present, runs + 1)
  await put(seen.gone, runs - MISSED_RUNS)
}

/**
 * Ends a run and returns the traces that the scanner has now missed in enough completed runs. A run
 * that is reported again changes nothing.
 */
export const completeRun = async (
  trx: SealedTrx,
  { id, cellId, module }: Scanner,
  { runId, now }: { runId: string; now: number },
): Promise<string[]> => {
  const known = await trx
    .selectFrom('discovery_scanners')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (known?.run_id === runId) return []
  const runs = (known?.runs ?? 0) + 1
  await trx
    .insertInto('discovery_scanners')
    .values({ id, cell_id: cellId ?? '', module, run_id: runId, runs, at: now })
    .onConflict(conflict => conflict.column('id').doUpdateSet({ run_id: runId, runs, at: now }))
    .execute()
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

const countRuns = async (trx: SealedTrx, { id }: Scanner): Promise<number> => {
  const query = trx.selectFrom('discovery_scanners').select('runs').where('id', '=', id)
  return (await query.executeTakeFirst())?.runs ?? 0
}
