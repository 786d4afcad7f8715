import * as z from 'zod'
import { type DiscoveryModule, isScan, type ScanModule } from '../../../../discovery/module.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { nameUnknown } from '../../../../shared/unknown-fields.ts'
import { UpstreamSource, UpstreamWarning } from '../../../../shared/wire/findings.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import type { DiscoveryViews } from '../../entities/open.ts'
import type { CellResult, LookupResult } from '../module-result.ts'

/** A cell in the answer of a scan. */
const CellRun = z.object({
  cell_id: z.string(),
  available: z.boolean().describe('False when the cell could not run the module.'),
  reason: z.string().nullable().describe('Why the module is not available on this cell.'),
  taken_at: z.iso.datetime(),
  elapsed_ms: z.int().nullable(),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })),
})

/** Answer of a scan: what the cells found together, and how each of them did. */
export const createScanAnswer = ({ row }: Pick<ScanModule, 'row'>) =>
  z.object({
    data_state: DataState,
    findings: z.array(z.object({ cell_id: z.string(), ...row.shape })),
    cells: z.array(CellRun),
  })

/** Answer of a lookup, with its provenance. */
const createLookupAnswer = (data: z.ZodType) =>
  z.object({
    data_state: DataState,
    data,
    sources: z.array(UpstreamSource),
    warnings: z.array(UpstreamWarning),
  })

export const createAnswer = (module: DiscoveryModule): z.ZodType =>
  isScan(module) ? createScanAnswer(module) : createLookupAnswer(module.data)

export const toScanAnswer = (results: readonly CellResult[]): object => {
  const findings = results.flatMap(({ cellId, rows }) =>
    rows.map(row => ({ ...row, cell_id: cellId })),
  )
  return {
    data_state: dataState(findings.length),
    unknown: nameUnknown('findings', results.filter(({ available }) => !available).map(whySilent)),
    findings,
    cells: results.map(result => ({
      cell_id: result.cellId,
      available: result.available,
      reason: result.reason,
      taken_at: new Date(result.takenAt).toISOString(),
      elapsed_ms: result.elapsedMs,
      warnings: [...result.warnings],
    })),
  }
}

/** A cell that cannot run the module says nothing of what is around it. */
const whySilent = ({ cellId, reason }: CellResult): string =>
  `cell ${cellId}: ${reason ?? 'the module is not available'}`

export const toLookupAnswer = ({ data, sources, warnings }: LookupResult): object => ({
  data_state: isEmpty(data) ? 'empty' : 'live',
  unknown: nameUnknown(
    'data',
    warnings.flatMap(({ code, message }) => (code === 'licence_restricted' ? [] : [message])),
  ),
  data,
  sources: [...sources],
  warnings: [...warnings],
})

/** True for a list of nothing but failures, and for an object whose lists all are. */
const isEmpty = (data: unknown): boolean => {
  if (Array.isArray(data)) return data.every(hasFailed)
  if (typeof data !== 'object' || data === null) return data === null
  const lists = Object.values(data).filter(each => Array.isArray(each))
  return lists.length > 0 && lists.every(list => list.every(hasFailed))
}

/** True for an entry of which an error is all that is known. */
const hasFailed = (entry: unknown): boolean =>
  typeof (entry as { error?: unknown } | null)?.error === 'string'

/** Runs a module and gives its answer: on one cell, on every capable one, or here. */
export const runModule = async (
  module: DiscoveryModule,
  input: object,
  context: Pick<Context, 'signal' | 'cellId' | 'progress'> &
    Pick<DiscoveryViews, 'moduleRuns' | 'lookups'>,
): Promise<object> => {
  const { moduleRuns, lookups, signal, progress, cellId } = context
  if (isScan(module)) {
    const report = (found: { done: number; total?: number; cellId?: string }): void => {
      const { cellId: id, ...count } = found
      void progress({ ...count, ...(id !== undefined && { data: { cell_id: id } }) })
    }
    return moduleRuns.run(module, input, { cellId, signal, report }, toScanAnswer)
  }
  return toLookupAnswer(await lookups.run(module, input, signal))
}

/** The last result of a module, in the form of its answer. @throws ShoalError not_found */
export const readLastResult = async (
  module: DiscoveryModule,
  { moduleResults, cellId }: Pick<Context, 'cellId'> & Pick<DiscoveryViews, 'moduleResults'>,
): Promise<object> => {
  const kept = await moduleResults.readLast(module.id, isScan(module) ? cellId : '')
  const [first] = kept
  if (first === undefined) {
    const where = cellId === undefined ? '' : ` on ${cellId}`
    throw new ShoalError('not_found', `${module.id} has no result${where} yet`, {
      next: `shoal modules run ${module.id}`,
    })
  }
  if (isScan(module))
    return toScanAnswer(
      kept.map(result => ({
        ...result,
        available: result.outcome !== 'unavailable',
        warnings: result.notes.warnings,
      })),
    )
  const { data } = (first.rows[0] ?? {}) as { data?: unknown }
  const { sources = [], warnings } = first.notes
  const result = { data, sources, warnings: warnings as LookupResult['warnings'] }
  return toLookupAnswer({ ...result, takenAt: first.takenAt })
}
