import { Budget, type BudgetLimits } from './budget.ts'
import type { LimitsConfig } from './limits-config.ts'

const MIB = 1024 * 1024

interface BudgetFacts {
  /** Snake case, ends in the unit; value of the label `budget`. */
  name: string
  /** Description of the bounded resource. */
  bounds: string
  /** Consequence for a holder at its bound. */
  atBound: string
}

/** A budget with its facts, for metrics and docs/limits.md. */
export interface ListedBudget extends BudgetFacts {
  budget: Budget
}

/** Every budget of the process. A holder of memory or sockets that clients or cells drive uses one. */
export class Budgets {
  readonly list: readonly ListedBudget[]
  /** Bytes of answers that the process keeps; a cell has part in those that are not whole yet. */
  readonly heldAnswers: Budget<'key' | 'cell'>
  /** Bytes of request bodies, from their first byte until their answer begins. */
  readonly requestBodies: Budget<'key'>
  /** Bytes of the newest states of devices. */
  readonly deviceStates: Budget<'cell'>
  /** Bytes of the rows of discovery modules, from their arrival until the answer. */
  readonly moduleRows: Budget<'cell'>
  /** Runs of discovery modules under way; those on the coordinator have no cell. */
  readonly moduleRuns: Budget<'cell'>
  /** Bytes of findings of scheduled runs that wait to be stored. */
  readonly waitingFindings: Budget<'cell'>
  /** Bytes of answers of outside sources that are on their way, at their largest. */
  readonly upstreamAnswers: Budget<'source'>
  /** Simulations of schedules that run or wait. */
  readonly simulations: Budget<'key'>
  /** Connections to the plain MQTT port that have not proven which cell they are. */
  readonly mqttStrangers: Budget<'address'>

  /** Connections of HTTP clients; a socket that a cell has upgraded is none of them. */
  readonly connections: Budget<'address'>
  /** Connections beyond that bound, for requests that must be answered in any case. */
  readonly reserveConnections: Budget<'address'>

  /** @param descriptors files and sockets that the process may open */
  constructor(limits: LimitsConfig, descriptors = Number.POSITIVE_INFINITY) {
    const list: ListedBudget[] = []
    const create = <Kind extends string>(
      facts: BudgetFacts,
      bounds: BudgetLimits<Kind>,
    ): Budget<Kind> => {
      const budget = new Budget(bounds)
      list.push({ ...facts, budget: budget as unknown as Budget })
      return budget
    }
    this.list = list
    this.heldAnswers = create(
      {
        name: 'held_answer_bytes',
        bounds:
          'Bytes of answers that the process keeps; a cell has part in those that are not whole yet.',
        atBound:
          'At three quarters of its share new requests of a key get 429 before a cell is contacted, and at its limit so does one whose answer has no room; at that of a cell another cell is asked, or the request waits for this one; else an answer of the largest key without progress is cut, or the request gets 503.',
      },
      {
        total: limits.held_bytes,
        per: { key: limits.held_bytes / 2, cell: limits.held_bytes / 4 },
      },
    )
    this.requestBodies = create(
      {
        name: 'request_body_bytes',
        bounds: 'Bytes of requests over 16 KiB, until their answer begins.',
        atBound:
          'The request gets 429 with Retry-After; at the total the oldest one of the largest key does.',
      },
      { total: limits.body_bytes, per: { key: limits.body_bytes / 4 } },
    )
    const connections = Math.min(limits.connections, countForClients(descriptors))
    const perAddress = Math.min(limits.connections_per_address, Math.floor(connections * 0.75))
    this.connections = create(
      {
        name: 'connections',
        bounds: 'Connections of HTTP clients, without those that cells have upgraded.',
        atBound: 'Connections without a request make way, else new ones are refused.',
      },
      { total: connections, per: { address: perAddress } },
    )
    this.reserveConnections = create(
      {
        name: 'reserve_connections',
        bounds: 'Connections beyond the bounds of `connections`, for health checks and keys.',
        atBound: 'Connections without a request make way, else new ones are closed.',
      },
      { total: 16, per: { address: 4 } },
    )
    this.deviceStates = create(
      {
        name: 'device_state_bytes',
        bounds: 'Bytes of the newest states of devices, as JSON.',
        atBound: 'The state of a device that has no room is dropped, and its readings are unknown.',
      },
      { total: 64 * MIB, per: { cell: 2 * MIB } },
    )
    this.moduleRows = create(
      {
        name: 'module_row_bytes',
        bounds: 'Bytes of the findings of discovery modules, from their arrival until the answer.',
        atBound: 'The remaining findings of that run are dropped, and the answer states it.',
      },
      { total: 64 * MIB, per: { cell: 16 * MIB } },
    )
    this.moduleRuns = create(
      {
        name: 'module_runs',
        bounds: 'Runs of discovery modules under way; those on the coordinator count in the total.',
        atBound: 'The run gets 429, or the cell is listed as busy in a run on several cells.',
      },
      { total: 1024, per: { cell: 4 } },
    )
    this.waitingFindings = create(
      {
        name: 'waiting_finding_bytes',
        bounds: 'Bytes of findings of scheduled runs that wait to be stored.',
        atBound: 'Further messages with findings are not confirmed, and the cell sends them again.',
      },
      { total: 32 * MIB, per: { cell: 8 * MIB } },
    )
    this.upstreamAnswers = create(
      {
        name: 'upstream_answer_bytes',
        bounds: 'Bytes of answers of outside sources that are on their way, at their largest.',
        atBound: 'The source is not queried; an older answer is used, else the next source.',
      },
      { total: 48 * MIB, per: { source: 32 * MIB } },
    )
    this.simulations = create(
      {
        name: 'simulations',
        bounds: 'Simulations of schedules that run or wait for a worker thread.',
        atBound: 'The call gets 429 with Retry-After.',
      },
      { total: 12, per: { key: 4 } },
    )
    this.mqttStrangers = create(
      {
        name: 'mqtt_stranger_sockets',
        bounds: 'Connections to the plain MQTT port without an accepted CONNECT.',
        atBound:
          'The oldest one of the address is closed, at the total that of the largest address.',
      },
      { total: 512, per: { address: 256 }, isNewestFirst: true },
    )
  }
}

/** Descriptors for client connections; the others are for cells, files and outgoing calls. */
const countForClients = (descriptors: number): number =>
  Math.max(16, Math.floor(Math.min(descriptors * 0.75, descriptors - 100)))
