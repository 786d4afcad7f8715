import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'
import type { FlowViews } from '../../agents/flows/open.ts'
import type { RunCount } from '../../agents/flows/run-store.ts'
import type { RampUpViews } from '../../fleet/rampup/open.ts'
import { RampUpView, rampUpViewOf } from '../../fleet/rampup/ramp-up-view.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../kernel/declaration/data-state.ts'
import { scopeOf } from '../../kernel/declaration/tenant-scope.ts'
import { computePercent } from '../reports/service-metrics.ts'
import type { ServiceViews } from '../services/open.ts'
import { SERVICE_IDS } from '../services/services.ts'

/** Configured flows, and the tenant's runs of them by state. */
export const FlowCounts = z.object({
  data_state: DataState,
  flows: z.int().describe('Flows that are configured.'),
  runs: z.record(z.string(), z.int()).describe("The tenant's runs by state."),
})

/** Runs of synergies that carried out all their steps, of those that were started. */
export const SynergyHealth = z.object({
  executed: z.int().describe('Runs that carried out all their steps.'),
  total: z.int().describe('Runs that were started.'),
  health_percent: figure(
    z.number().nullable().describe('Executed over total; null before the first run.'),
    'no synergy has run yet',
    { named: 'empty' },
  ),
})

export const SynergyCounts = SynergyHealth.extend({
  data_state: DataState,
  synergies: z.int().describe('Synergies that are configured.'),
})

export const RampUpOverview = z.object({
  data_state: DataState,
  configured: z.boolean(),
  ramp_up: RampUpView.nullable().describe('Newest ramp-up of the tenant.'),
})

/** A configured service, as it answers now. */
export const ServiceState = z.object({
  service_id: z.string(),
  state: z.enum(['up', 'degraded', 'down', 'unknown']),
  reason: z.string().nullable(),
})

/** The tenant's flows and synergies; `empty` where none is configured and none has run. */
export const flowOverviewOf = async (
  context: Context & FlowViews,
): Promise<{ flows: z.input<typeof FlowCounts>; synergies: z.input<typeof SynergyCounts> }> => {
  const { flows, synergies } = context.flows
  const counts = await context.flows.count(scopeOf(context).tenantId)
  const runs: Record<string, number> = {}
  for (const count of counts) runs[count.state] = (runs[count.state] ?? 0) + count.runs
  const health = synergyHealthOf(counts.filter(({ synergyId }) => synergyId !== null))
  const [flowCount, synergyCount] = [Object.keys(flows).length, Object.keys(synergies).length]
  return {
    flows: { data_state: dataState(flowCount + counts.length), flows: flowCount, runs },
    synergies: {
      data_state: dataState(synergyCount + health.total),
      synergies: synergyCount,
      ...health,
    },
  }
}

export const synergyHealthOf = (counts: readonly RunCount[]): z.input<typeof SynergyHealth> => {
  const total = sumRuns(counts)
  const executed = sumRuns(counts.filter(({ state }) => state === 'done'))
  return { executed, total, health_percent: computePercent(executed, total) }
}

export const sumRuns = (counts: readonly RunCount[]): number =>
  counts.reduce((sum, { runs }) => sum + runs, 0)

export const rampUpOverviewOf = async (
  context: Context & RampUpViews,
): Promise<z.input<typeof RampUpOverview>> => {
  const { rampUps } = context
  const rampUp = await rampUps.latest(scopeOf(context).tenantId)
  return {
    data_state: dataState(rampUp === undefined ? 0 : 1),
    configured: rampUps.isConfigured,
    ramp_up: rampUp === undefined ? null : rampUpViewOf(rampUp),
  }
}

/** Asks the configured services; those without an address are left out. */
export const checkServices = async ({
  services,
  signal,
}: Context & ServiceViews): Promise<z.input<typeof ServiceState>[]> => {
  const found = await Promise.all(
    SERVICE_IDS.map(id => services.check(id, { isDeep: false }, signal)),
  )
  return found.flatMap(({ serviceId: service_id, state, reason = null }) =>
    state === 'not_configured' ? [] : [{ service_id, state, reason }],
  )
}
