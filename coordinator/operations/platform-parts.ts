import type * as z from 'zod'
import { percentOf } from '../reports/service-figures.ts'
import type { Context } from './context.ts'
import { dataState } from './data-state.ts'
import type { FlowCounts, ServiceState, SynergyCounts } from './platform-views.ts'

interface RunCount {
  flowId: string
  synergyId: string | null
  state: string
  runs: number
}

interface CheckedService {
  state: 'up' | 'degraded' | 'down' | 'unknown' | 'not_configured'
  reason: string | undefined
}

/** Views of parts that this coordinator may lack. */
interface PlatformViews {
  flows?: {
    flows: object
    synergies: object
    /** Number of runs of a tenant by flow, synergy and state. */
    count(tenantId: string): Promise<RunCount[]>
  }
  services?: {
    check(
      serviceId: string,
      options: { isDeep: boolean },
      signal: AbortSignal,
    ): Promise<CheckedService>
  }
}

const platform = (context: Context): PlatformViews => context as unknown as PlatformViews

/** Counts of the flows and synergies and of the tenant's runs; `empty` where none is defined. */
export const countFlows = async (
  context: Context,
): Promise<{ flows: z.input<typeof FlowCounts>; synergies: z.input<typeof SynergyCounts> }> => {
  const { flows } = platform(context)
  const counts = (await flows?.count(context.tenantId ?? '')) ?? []
  const runs: Record<string, number> = {}
  for (const count of counts) runs[count.state] = (runs[count.state] ?? 0) + count.runs
  const defined = Object.keys(flows?.flows ?? {}).length
  const synergies = Object.keys(flows?.synergies ?? {})
  const done = new Set(
    counts.flatMap(({ synergyId, state }) => (state === 'done' ? [synergyId] : [])),
  )
  const executed = synergies.filter(id => done.has(id)).length
  return {
    flows: { data_state: dataState(defined), flows: defined, runs },
    synergies: {
      data_state: dataState(synergies.length),
      synergies: synergies.length,
      executed,
      health_percent: percentOf(executed, synergies.length),
    },
  }
}

const SERVICE_IDS = ['cockpit', 'keycloak', 'iio_api'] as const

/** Asks the configured services; those without configuration are left out. */
export const checkServices = async (context: Context): Promise<z.input<typeof ServiceState>[]> => {
  const { services } = platform(context)
  if (services === undefined) return []
  const found = await Promise.all(
    SERVICE_IDS.map(async service_id => {
      const { state, reason = null } = await services.check(
        service_id,
        { isDeep: false },
        context.signal,
      )
      return state === 'not_configured' ? [] : [{ service_id, state, reason }]
    }),
  )
  return found.flat()
}
