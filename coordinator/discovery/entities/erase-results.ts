import { type TraceHash, traceOf } from '../../../discovery/entities/trace.ts'
import type { ModuleRow } from '../../../shared/wire/findings.ts'
import type { ModuleObserver } from '../modules/module-observer.ts'
import type { ModuleResults, StoredPart } from '../modules/module-results.ts'
import type { StoredTrace } from './evidence-rows.ts'
import type { Mentions } from './mentions.ts'

interface ResultErasureParts {
  results: Pick<ModuleResults, 'edit'>
  observer: Pick<ModuleObserver, 'observe'>
  pseudonyms: TraceHash
  now: () => number
}

/** Removes the rows of stored results that mention an entity, or in which it was seen. */
export const eraseFromResults = async (
  { results, observer, pseudonyms, now }: ResultErasureParts,
  traces: readonly StoredTrace[],
  mentions: Mentions,
): Promise<void> => {
  const traceIds = new Set(traces.map(({ id }) => id))
  const sites = [...new Set(traces.map(({ site }) => site))]
  const isMentioned = (value: unknown): boolean =>
    typeof value === 'string'
      ? mentions.isIn(value) || mentions.isName(value)
      : typeof value === 'object' && value !== null && Object.values(value).some(isMentioned)
  const isSeenBy = (row: ModuleRow, { cellId, module }: StoredPart): boolean => {
    const run = { runId: '', part: 0, inputHash: '', startedAt: 0, outcome: undefined }
    // a lookup of the coordinator is stored with its data as one field
    const rows = cellId === '' ? [row.data as ModuleRow] : [row]
    const found = observer.observe({ ...run, cellId: cellId || undefined, module, rows }, 0)
    return found.some(observation =>
      sites.some(site => {
        const trace = traceOf({ ...observation, site }, now(), pseudonyms)
        return trace !== undefined && traceIds.has(trace.id)
      }),
    )
  }
  await results.edit(part => {
    const rows = part.rows.filter(row => !isMentioned(row) && !isSeenBy(row, part))
    const notes = isMentioned(part.notes) ? { warnings: [] } : part.notes
    const reason = part.reason !== null && isMentioned(part.reason) ? null : part.reason
    return { rows, notes, reason }
  })
}
