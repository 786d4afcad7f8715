import type { CatalogueEntry } from '../../../shared/catalogue.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { engineReports, isRoutable } from '../../fleet/cells/cell.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { contextInForce } from '../../fleet/routing/context-in-force.ts'

export interface ReportSources {
  fleet: Pick<Fleet, 'cells'>
  /** True when requests of a tenant may run on a cell. */
  mayUse: (cellId: string, tenantId: string | undefined) => boolean
}

/** An engine that has a model, on a cell that serves the tenant. */
export interface Found {
  report: EngineReport
  hasGpu: boolean
}

/** Reports of the cells that serve the tenant, by id of the model. */
export const groupReports = (
  { fleet, mayUse }: ReportSources,
  tenantId: string | undefined,
): Map<string, Found[]> => {
  const reports = new Map<string, Found[]>()
  for (const cell of fleet.cells()) {
    if (!isRoutable(cell) || !mayUse(cell.id, tenantId)) continue
    const hasGpu = (cell.sample?.gpus.length ?? 0) > 0
    for (const report of engineReports(cell))
      for (const model of report.models) {
        const found = reports.get(model)
        if (found === undefined) reports.set(model, [{ report, hasGpu }])
        else found.push({ report, hasGpu })
      }
  }
  return reports
}

/** Most tokens of one request, as of the reports of the cells. */
export const contextOf = (entry: CatalogueEntry, found: readonly Pick<Found, 'report'>[]): number =>
  contextInForce(
    entry,
    found
      .filter(({ report }) => report.state !== 'failed')
      .map(({ report }) => ({
        ready: report.state === 'ready',
        contextLength: report.context_length,
      })),
  )
