import type { Registry } from 'prom-client'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Base } from '../../kernel/base/base.ts'
import { createVitals, LOOP_WINDOW_SECONDS, type VitalViews } from '../../kernel/base/vitals.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { Leader } from '../../kernel/leader/leader.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { StoreProbe } from '../../kernel/store/probe.ts'
import { type CoordinatorMetrics, listCoordinatorMetrics } from './coordinator-metrics.ts'
import { addProcessMetrics, createPrometheusRegistry } from './prometheus.ts'

interface VitalParts extends Pick<Base, 'stack' | 'schedules' | 'nowMs'> {
  config: { state_dir: string }
  metrics: CoordinatorMetrics
  budgets: Pick<Budgets, 'list'>
  fleet: Pick<Fleet, 'cells'>
  probe: StoreProbe
  usage: { trouble(): string | undefined }
  bus: { isConnected(): boolean }
  replicas: Pick<Replicas, 'live'>
  leader: Pick<Leader, 'isLeader'>
}

export const openVitals = (parts: VitalParts): { registry: Registry; views: VitalViews } => {
  const { config, metrics, budgets, fleet, probe, usage, bus, replicas, leader, stack, nowMs } =
    parts
  const vitals = createVitals({
    store: probe,
    usage,
    stateDir: config.state_dir,
    brokerConnected: bus.isConnected,
    nowMs,
  })
  stack.defer(() => vitals.close())
  parts.schedules.every('vitals.window', LOOP_WINDOW_SECONDS, vitals.beginWindow)
  const sources = {
    metrics,
    budgets,
    fleet,
    vitals,
    replicas: { live: () => replicas.live(), isLeader: () => leader.isLeader() },
  }
  const registry = addProcessMetrics(createPrometheusRegistry(listCoordinatorMetrics(sources)))
  return { registry, views: { vitals } }
}
