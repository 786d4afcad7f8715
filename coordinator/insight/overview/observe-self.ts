import { isRaised } from '../../fleet/alerts/alert.ts'
import type { Observations } from '../../fleet/alerts/diagnosis.ts'
import type { MonitorViews } from '../../fleet/alerts/open-monitor.ts'
import { engineReports } from '../../fleet/cells/cell.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import { listPromisedModels } from '../../fleet/cells/promised-models.ts'
import type { ReplicaViews } from '../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../fleet/models/open.ts'
import type { VitalViews } from '../../kernel/base/vitals.ts'

/** Gathers the observations that the self-diagnosis judges. */
export const observeSelf = async (
  context: EnrolmentViews & FleetViews & ModelViews & MonitorViews & ReplicaViews & VitalViews,
): Promise<Observations> => {
  const { fleet, cells, catalogue, monitor, vitals, replicas } = context
  return {
    storeProblem: vitals.storeProblem(),
    // A file system that does not answer is a finding, not a failure of the diagnosis.
    disk: await vitals.disk().catch(() => undefined),
    loopDelayMs: vitals.loopDelayMs(),
    brokerConnected: vitals.brokerConnected(),
    cells: [...fleet.cells()].map(({ id, presence, link, clockAheadMs }) => ({
      id,
      presence,
      linked: link !== undefined,
      clockAheadMs,
    })),
    models: listPromisedModels(catalogue, fleet).map(model => ({
      ...model,
      drainedOn: listDrainedCells(fleet, model.id),
    })),
    alerts: monitor.alerts().filter(isRaised),
    quarantined: (await cells.list())
      .filter(cell => cell.quarantinedAt !== undefined && cell.revokedAt === undefined)
      .map(({ id }) => id),
    replicas: await replicas.readStates(),
  }
}

/** Cells that offer the model, but take no requests until an operator resumes them. */
const listDrainedCells = (fleet: FleetViews['fleet'], model: string): string[] =>
  [...fleet.cells()]
    .filter(cell => cell.drained && isPresent(cell.presence))
    .filter(cell => engineReports(cell).some(({ models }) => models.includes(model)))
    .map(({ id }) => id)
