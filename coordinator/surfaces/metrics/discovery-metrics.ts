import { createCounter, type Metric, Tally } from '../../../shared/metrics/metric.ts'

export interface DiscoveryMetrics {
  /** A run of a module on a cell or on the coordinator ended. */
  countRun(module: string, status: RunStatus): void
  /** A message with findings of a scheduled run was handled. */
  countMessage(outcome: MessageOutcome): void
  /** Counts entities that were removed because too many were stored. */
  countExcess(entities: number): void
  /** A sighting was recorded without comparing it, because too much evidence belongs to it. */
  countCut(): void
  list: readonly Metric[]
}

/** `refused`: the run did not begin, because too many were under way. */
type RunStatus = 'complete' | 'unavailable' | 'failed' | 'refused'

/**
 * `repeated`: it was stored before; `unconfirmed`: the cell sends it again; `dropped`: its module is
 * not known here.
 */
type MessageOutcome = 'stored' | 'repeated' | 'unconfirmed' | 'dropped'

/** Metrics of discovery. */
export const createDiscoveryMetrics = (): DiscoveryMetrics => {
  const [runs, messages] = [new Tally(), new Tally()]
  const [excess, cuts] = [new Tally(), new Tally()]
  return {
    countRun: (module, status) => runs.add([module, status]),
    countMessage: outcome => messages.add([outcome]),
    countExcess: entities => excess.add([], entities),
    countCut: () => cuts.add([]),
    list: [
      createCounter(
        {
          name: 'shoal_discovery_runs_total',
          help: 'Runs of discovery modules on cells and on the coordinator, by how they ended.',
          labels: ['module', 'status'],
        },
        runs,
      ),
      createCounter(
        {
          name: 'shoal_discovery_messages_total',
          help: 'Messages with findings of scheduled runs, by what became of them.',
          labels: ['outcome'],
        },
        messages,
      ),
      createCounter(
        {
          name: 'shoal_discovery_entities_excess_total',
          help: 'Entities that were removed because the registry held too many.',
          labels: [],
        },
        excess,
      ),
      createCounter(
        {
          name: 'shoal_discovery_uncompared_sightings_total',
          help: 'Sightings that were recorded without comparing them: too much evidence belongs to them.',
          labels: [],
        },
        cuts,
      ),
    ],
  }
}
