import { createMetric, type Metric } from '../../../shared/metrics/metric.ts'
import { VERSION } from '../../../shared/version.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Vitals } from '../../kernel/base/vitals.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { type BrokerFigures, createBrokerFigures } from './broker-figures.ts'
import { budgetMetrics } from './budget-metrics.ts'
import { createDiscoveryFigures, type DiscoveryFigures } from './discovery-figures.ts'
import { createEventFigures, type EventFigures } from './event-figures.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { createHttpFigures, type HttpFigures } from './http-figures.ts'
import { InferenceFigures } from './inference-figures.ts'
import { createQueueFigures, type QueueFigures } from './queue-figures.ts'
import { createQuotaFigures, type QuotaFigures } from './quota-figures.ts'
import { createStoreFigures, type StoreFigures } from './store-figures.ts'
import { createUpstreamFigures, type UpstreamFigures } from './upstream-figures.ts'

/** Counters of each part of the coordinator. */
export interface Figures {
  http: HttpFigures
  inference: InferenceFigures
  quota: QuotaFigures
  store: StoreFigures
  broker: BrokerFigures
  queue: QueueFigures
  events: EventFigures
  upstreams: UpstreamFigures
  discovery: DiscoveryFigures
}

export const createFigures = (): Figures => ({
  http: createHttpFigures(),
  inference: new InferenceFigures(),
  quota: createQuotaFigures(),
  store: createStoreFigures(),
  broker: createBrokerFigures(),
  queue: createQueueFigures(),
  events: createEventFigures(),
  upstreams: createUpstreamFigures(),
  discovery: createDiscoveryFigures(),
})

interface MetricSources {
  figures: Figures
  budgets: Pick<Budgets, 'list'>
  fleet: Pick<Fleet, 'cells'>
  vitals: Pick<Vitals, 'brokerConnected' | 'storeProblem' | 'loopDelayMs'>
  replicas: { live(): readonly unknown[]; isLeader(): boolean }
}

/** Every metric of the coordinator, those of its process aside. */
export const coordinatorMetrics = (sources: MetricSources): Metric[] => [
  ...partMetrics(sources),
  ...processMetrics(sources),
]

const partMetrics = ({ figures, budgets, fleet, vitals }: MetricSources): Metric[] => [
  ...figures.http.metrics,
  ...budgetMetrics(budgets),
  ...figures.inference.metrics,
  ...figures.quota.metrics,
  ...fleetMetrics(fleet),
  ...figures.broker.metrics,
  createMetric(
    {
      name: 'shoal_broker_connected',
      type: 'gauge',
      help: 'Whether the broker is reached: 1 or 0.',
    },
    () => Number(vitals.brokerConnected()),
  ),
  ...figures.queue.metrics,
  ...figures.events.metrics,
  ...figures.upstreams.metrics,
  ...figures.discovery.metrics,
  ...figures.store.metrics,
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
      help: 'Coordinators that serve the fleet, as this one knows.',
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
