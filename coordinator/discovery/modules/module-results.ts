import type { ExpressionBuilder, Transaction } from 'kysely'
import type { ModuleRow } from '../../../shared/wire/findings.ts'
import type { Records } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import { moduleResultTable, type ResultNotes } from './module-result.table.ts'
import { columnsOf, type KeptResult, type ResultPart, toKeptResult } from './result-rows.ts'

/** Most parts of a run that are kept; those beyond are left out with a warning. */
const MAX_PARTS = 16
const PART_BYTES = 256 * 1024
/** Most cells whose results are read at once, those with the newest results. */
const MAX_CELLS = 200
const MAX_READ_BYTES = 16 * 1024 * 1024

/** A stored part of a result, as an editor sees it. */
export type StoredPart = Pick<ResultPart, 'cellId' | 'module' | 'rows' | 'notes' | 'reason'>

type RecordsTrx = Transaction<RecordTables>

/** The last result of each module on each cell, for every coordinator. */
export class ModuleResults {
  readonly #records: Pick<Records, 'read' | 'free'>

  constructor(records: Pick<Records, 'read' | 'free'>) {
    this.#records = records
  }

  /** Keeps a whole run in place of the one before. */
  async keep(run: KeptResult): Promise<void> {
    const chunks = divideRows(run.rows)
    const kept = chunks.slice(0, MAX_PARTS)
    const notes = kept.length < chunks.length ? withCutNote(run.notes) : run.notes
    await this.#records.free.write(async trx => {
      for (const [part, rows] of kept.entries()) {
        const outcome = part === kept.length - 1 ? run.outcome : undefined
        await putPart(trx, { ...run, notes, part, rows, outcome })
      }
      await deleteOthers(trx, run, 'all')
    })
  }

  /**
   * Keeps one part of a run; it takes the place of the run before with its last part. A run that
   * started before the last one is not kept.
   */
  async keepPart(part: ResultPart): Promise<void> {
    const isKept = part.part < MAX_PARTS
    if (!isKept && part.outcome === undefined) return
    const cut = isKept ? part : { ...part, rows: [], notes: withCutNote(part.notes) }
    await this.#records.free.write(async trx => {
      if (await hasLaterRun(trx, part)) return
      await putPart(trx, cut)
      await deleteOthers(trx, part, part.outcome === undefined ? 'unfinished' : 'all')
    })
  }

  /** The last run on each cell, or on the one that is named; newest first. */
  async readLast(module: string, cellId: string | undefined): Promise<KeptResult[]> {
    const { read } = this.#records
    const ends = read
      .selectFrom('module_results')
      .selectAll()
      .where('module_id', '=', module)
      .where('outcome', 'is not', null)
    const named = cellId === undefined ? ends : ends.where('cell_id', '=', cellId)
    const rows = await named.orderBy('taken_at', 'desc').limit(MAX_CELLS).execute()
    const newest = new Map(rows.toReversed().map(row => [row.cell_id, row]))
    const results: KeptResult[] = []
    let bytes = 0
    for (const end of [...newest.values()].toReversed()) {
      const parts = await read
        .selectFrom('module_results')
        .select('rows_json')
        .where('module_id', '=', module)
        .where('cell_id', '=', end.cell_id)
        .where('run_id', '=', end.run_id)
        .orderBy('part')
        .execute()
      bytes += parts.reduce((sum, { rows_json }) => sum + rows_json.length, 0)
      if (bytes > MAX_READ_BYTES) break
      const result = toKeptResult(end, parts)
      if (result !== undefined) results.push(result)
    }
    return results
  }

  /** Edits all stored parts, one after another; a lookup that loses its row is deleted. */
  async edit(
    change: (part: StoredPart) => Pick<StoredPart, 'rows' | 'notes' | 'reason'>,
  ): Promise<void> {
    const keys = await this.#records.read
      .selectFrom('module_results')
      .select(['cell_id', 'module_id', 'run_id', 'part'])
      .execute()
    for (const key of keys) await this.#records.free.write(trx => editPart(trx, key, change))
  }

  async forgetCell(cellId: string): Promise<void> {
    await this.#records.free.write(trx =>
      trx.deleteFrom('module_results').where('cell_id', '=', cellId).execute(),
    )
  }

  async forgetBefore(time: number): Promise<void> {
    await this.#records.free.write(trx =>
      trx.deleteFrom('module_results').where('taken_at', '<', time).execute(),
    )
  }
}

const editPart = async (
  trx: RecordsTrx,
  key: Pick<RecordTables['module_results'], 'cell_id' | 'module_id' | 'run_id' | 'part'>,
  change: (part: StoredPart) => Pick<StoredPart, 'rows' | 'notes' | 'reason'>,
): Promise<void> => {
  const isPart = (row: ExpressionBuilder<RecordTables, 'module_results'>) => row.and(key)
  const stored = trx.selectFrom('module_results').selectAll().where(isPart)
  const found = await stored.executeTakeFirst()
  if (found === undefined) return
  const { cellId, moduleId: module, rows, notes, reason = null } = moduleResultTable.read(found)
  const next = change({ cellId, module, rows, notes, reason })
  if (cellId === '' && next.rows.length < rows.length) {
    await trx.deleteFrom('module_results').where(isPart).execute()
    return
  }
  if (next.rows.length === rows.length && next.notes === notes && next.reason === reason) return
  await trx
    .updateTable('module_results')
    .set(moduleResultTable.writeSome({ ...next, reason: next.reason ?? undefined }))
    .where(isPart)
    .execute()
}

/** Lists of rows that fit into one part each; one that is empty for no rows. */
const divideRows = (rows: readonly ModuleRow[]): ModuleRow[][] => {
  const parts: ModuleRow[][] = [[]]
  let bytes = 0
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row))
    if (bytes + size > PART_BYTES && bytes > 0) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(row)
    bytes += size
  }
  return parts
}

const withCutNote = (notes: ResultNotes): ResultNotes => ({
  ...notes,
  warnings: [
    ...notes.warnings,
    { code: 'partial_result', message: 'the stored result has only the first rows' },
  ],
})

/** A part that arrives again stays as it is stored: an erasure may have edited it since. */
const putPart = async (trx: RecordsTrx, part: ResultPart): Promise<void> => {
  await trx
    .insertInto('module_results')
    .values(columnsOf(part))
    .onConflict(conflict =>
      conflict.columns(['cell_id', 'module_id', 'run_id', 'part']).doNothing(),
    )
    .execute()
}

const hasLaterRun = async (
  trx: RecordsTrx,
  { cellId, module, runId, startedAt }: ResultPart,
): Promise<boolean> => {
  const later = await trx
    .selectFrom('module_results')
    .select('run_id')
    .where('cell_id', '=', cellId)
    .where('module_id', '=', module)
    .where('run_id', '!=', runId)
    .where('outcome', 'is not', null)
    .where('started_at', '>', startedAt)
    .limit(1)
    .execute()
  return later.length > 0
}

/** Deletes other runs of the module on the cell: all, or those that never came to their end. */
const deleteOthers = async (
  trx: RecordsTrx,
  { cellId, module, runId }: Pick<ResultPart, 'cellId' | 'module' | 'runId'>,
  which: 'all' | 'unfinished',
): Promise<void> => {
  const others = trx
    .deleteFrom('module_results')
    .where('cell_id', '=', cellId)
    .where('module_id', '=', module)
    .where('run_id', '!=', runId)
  if (which === 'all') {
    await others.execute()
    return
  }
  const finished = trx
    .selectFrom('module_results')
    .select('run_id')
    .where('cell_id', '=', cellId)
    .where('module_id', '=', module)
    .where('outcome', 'is not', null)
  await others.where('run_id', 'not in', finished).execute()
}
