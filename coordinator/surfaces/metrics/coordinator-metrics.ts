import { createMetric, type Metric } from '../../../shared/metrics/metric.ts'
import { VERSION } from '../../../shared/version.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Vitals } from '../../kernel/base/vitals.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { type BrokerMetrics, createBrokerMetrics } from './broker-metrics.ts'
import { budgetMetrics } from './budget-metrics.ts'
import { createDiscoveryMetrics, type DiscoveryMetrics } from './discovery-metrics.ts'
import { createEventMetrics, type EventMetrics } from './event-metrics.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { createHttpMetrics, type HttpMetrics } from './http-metrics.ts'
import { InferenceMetrics } from './inference-metrics.ts'
import { createQueueMetrics, type QueueMetrics } from './queue-metrics.ts'
import { createQuotaMetrics, type QuotaMetrics } from './quota-metrics.ts'
import { createStoreMetrics, type StoreMetrics } from './store-metrics.ts'
import { createUpstreamMetrics, type UpstreamMetrics } from './upstream-metrics.ts'

/** Counters of each part of the coordinator. */
export interface CoordinatorMetrics {
  http: HttpMetrics
  inference: InferenceMetrics
  quota: QuotaMetrics
  store: StoreMetrics
  broker: BrokerMetrics
  queue: QueueMetrics
  events: EventMetrics
  upstreams: UpstreamMetrics
  discovery: DiscoveryMetrics
}

export const createCoordinatorMetrics = (): CoordinatorMetrics => ({
  http: createHttpMetrics(),
  inference: new InferenceMetrics(),
  quota: createQuotaMetrics(),
  store: createStoreMetrics(),
  broker: createBrokerMetrics(),
  queue: createQueueMetrics(),
  events: createEventMetrics(),
  upstreams: createUpstreamMetrics(),
  discovery: createDiscoveryMetrics(),
})

interface MetricSources {
  metrics: CoordinatorMetrics
  budgets: Pick<Budgets, 'list'>
  fleet: Pick<Fleet, 'cells'>
  vitals: Pick<Vitals, 'brokerConnected' | 'storeProblem' | 'loopDelayMs'>
  replicas: { live(): readonly unknown[]; isLeader(): boolean }
}

/** Every metric of the coordinator, those of its process aside. */
export const listCoordinatorMetrics = (sources: MetricSources): Metric[] => [
  ...partMetrics(sources),
  ...processMetrics(sources),
]

const partMetrics = ({ metrics, budgets, fleet, vitals }: MetricSources): Metric[] => [
  ...metrics.http.list,
  ...budgetMetrics(budgets),
  ...metrics.inference.list,
  ...metrics.quota.list,
  ...fleetMetrics(fleet),
  ...metrics.broker.list,
  createMetric(
    {
      name: 'shoal_broker_connected',
      type: 'gauge',
      help: 'Whether the broker is reached: 1 or 0.',
    },
    () => Number(vitals.brokerConnected()),
  ),
  ...metrics.queue.list,
  ...metrics.events.list,
  ...metrics.upstreams.list,
  ...metrics.discovery.list,
  ...metrics.store.list,
  createMetric(
    {
      name: 'shoal_store_usable',
      type: 'gauge',
      help: 'Whether the store can be relied on: 1 or 0.',
    },
    () => Number(vitals.storeProblem() === undefined),
  ),
]

const processMetrics = ({ vitals, replicas }: MetricSources): Metric[] => [
  createMetric(
    {
      name: 'shoal_replicas_live',
      type: 'gauge',
      help: 'Coordinators that serve the fleet, as far as this one knows.',
    },
    () => replicas.live().length,
  ),
  createMetric(
    { name: 'shoal_leader', type: 'gauge', help: 'Whether this coordinator leads: 1 or 0.' },
    () => Number(replicas.isLeader()),
  ),
  createMetric(
    {
      name: 'shoal_event_loop_longest_delay_seconds',
      type: 'gauge',
      help: 'Longest delay of the event loop in the last one to two minutes.',
    },
    () => vitals.loopDelayMs() / 1000,
  ),
  {
    name: 'shoal_build_info',
    type: 'gauge',
    help: 'Always 1; the version is a label.',
    labels: ['version'],
    read: () => [{ labels: { version: VERSION }, value: 1 }],
  },
]
