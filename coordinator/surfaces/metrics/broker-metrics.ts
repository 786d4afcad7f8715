import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'
import type { TopicName } from '../../../shared/wire/topics.ts'
import type { Bus } from '../../fleet/broker/bus.ts'

export interface BrokerMetrics {
  /** Wraps a listener and counts its messages. */
  countReceived<A extends [TopicName, ...unknown[]], R>(
    receive: (...args: A) => R,
  ): (...args: A) => R
  /** A message was not what it should be. */
  countDropped(topic: TopicName): void
  /** Wraps a bus and counts its messages. */
  watch(bus: Bus): Bus
  list: readonly Metric[]
}

/** Messages between coordinator and cells. */
export const createBrokerMetrics = (): BrokerMetrics => {
  const messages = new Tally()
  const dropped = new Tally()
  return {
    countReceived:
      receive =>
      (...args) => {
        messages.add(['from_cells', args[0]])
        return receive(...args)
      },
    countDropped: topic => dropped.add([topic]),
    watch: bus => ({
      ...bus,
      publish: (name, ...rest) => {
        messages.add(['to_cells', name])
        return bus.publish(name, ...rest)
      },
      publishToEach: (name, cellIds, ...rest) => {
        for (const _ of cellIds) messages.add(['to_cells', name])
        return bus.publishToEach(name, cellIds, ...rest)
      },
    }),
    list: [
      createCounter(
        {
          name: 'shoal_broker_messages_total',
          help: 'MQTT messages from and to cells, by topic.',
          labels: ['direction', 'topic'],
        },
        messages,
      ),
      createCounter(
        {
          name: 'shoal_broker_messages_dropped_total',
          help: 'Messages from cells that were not valid.',
          labels: ['topic'],
        },
        dropped,
      ),
    ],
  }
}
