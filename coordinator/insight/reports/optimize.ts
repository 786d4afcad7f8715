import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import type { MetricSummary } from './series-summary.ts'
import { round } from './service-metrics.ts'

type RecommendationKind = 'placement' | 'unload' | 'slots' | 'imbalance'

export interface Recommendation {
  kind: RecommendationKind
  cellId: string
  /** Undefined for one that concerns the whole cell. */
  model: string | undefined
  reason: string
  /** Expected effect of carrying it out. */
  effect: { name: string; value: number; unit: 'bytes' | 'slots' | 'percent' | 'requests' }[]
  /** Command that carries it out; undefined where a person has to decide how. */
  step: Step | undefined
  /** Reason why no command carries it out; undefined for one with a step. */
  noStepReason?: string
}

interface Step {
  operation: 'cells-load' | 'cells-unload'
  input: { cell_id: string; model: string }
}

/** One cell that takes requests, with the load of its last 24 hours. */
export interface ObservedCell {
  id: string
  engines: readonly EngineReport[]
  /** Free memory for models, below the limit of the cell; undefined while unknown. */
  freeBytes: number | undefined
  slotsBusyPercent: MetricSummary
  gpuPercent: MetricSummary
  queued: MetricSummary
}

interface OptimizeFacts {
  cells: readonly ObservedCell[]
  /** Requests of the last 24 hours by model. */
  requests: ReadonlyMap<string, number>
}

/** Idle time after which a model may be unloaded. */
const IDLE_SECONDS = 3600
/** Mean share of busy slots above which a cell is overloaded, and below which it has room. */
const BUSY_PERCENT = 80
const CALM_PERCENT = 40
/** Mean GPU utilization below which more slots would use the GPU better. */
const SLACK_GPU_PERCENT = 50

/** Recommendations for the fleet, from its series and its requests; see docs/reports.md. */
export const optimize = (facts: OptimizeFacts): Recommendation[] => [
  ...recommendPlacement(facts),
  ...recommendRelief(facts),
  ...facts.cells.flatMap(cell => recommendUnload(cell, facts.requests)),
  ...facts.cells.flatMap(recommendSlots),
  ...recommendBalance(facts),
]

const modelsIn = (cell: ObservedCell, states: readonly EngineReport['state'][]): string[] =>
  cell.engines.filter(({ state }) => states.includes(state)).flatMap(({ models }) => models)

/** Requested models that no cell has loaded: their first request waits for the model. */
const recommendPlacement = ({ cells, requests }: OptimizeFacts): Recommendation[] =>
  [...requests].flatMap(([model, count]) => {
    if (count === 0 || cells.some(cell => modelsIn(cell, ['ready', 'loading']).includes(model)))
      return []
    const target = findRoom(cells, model)
    if (target === undefined) return []
    return [
      {
        kind: 'placement',
        cellId: target.cell.id,
        model,
        reason: `${count} requests in 24 hours named it, and no cell has it loaded`,
        effect: [
          { name: 'requests_without_load_time', value: count, unit: 'requests' },
          ...memoryEffect('memory_used', target.engine),
        ],
        step: { operation: 'cells-load', input: { cell_id: target.cell.id, model } },
      },
    ]
  })

/** Cells whose slots were mostly busy, while another one could serve the model too. */
const recommendRelief = ({ cells, requests }: OptimizeFacts): Recommendation[] =>
  cells
    .filter(({ slotsBusyPercent }) => (slotsBusyPercent.mean ?? 0) > BUSY_PERCENT)
    .flatMap(busy => {
      const [model] = modelsIn(busy, ['ready']).toSorted(
        (a, b) => (requests.get(b) ?? 0) - (requests.get(a) ?? 0),
      )
      if (model === undefined) return []
      const others = cells.filter(
        cell => cell !== busy && (cell.slotsBusyPercent.mean ?? 0) < CALM_PERCENT,
      )
      const target = findRoom(others, model)
      if (target === undefined) return []
      const slots = slotsOf(cells, model)
      const expected = ((busy.slotsBusyPercent.mean ?? 0) * slots) / (slots + target.engine.slots)
      return [
        {
          kind: 'placement',
          cellId: target.cell.id,
          model,
          reason: `slots of ${busy.id} were busy ${busy.slotsBusyPercent.mean} percent of the time`,
          effect: [
            { name: 'slots_added', value: target.engine.slots, unit: 'slots' },
            { name: 'slots_busy_expected', value: round(expected), unit: 'percent' },
            ...memoryEffect('memory_used', target.engine),
          ],
          step: { operation: 'cells-load', input: { cell_id: target.cell.id, model } },
        },
      ]
    })

const slotsOf = (cells: readonly ObservedCell[], model: string): number =>
  cells
    .flatMap(({ engines }) => engines)
    .filter(({ state, models }) => state === 'ready' && models.includes(model))
    .reduce((all, { slots }) => all + slots, 0)

/** The cell with the most free memory that offers the model, and has room for it. */
const findRoom = (
  cells: readonly ObservedCell[],
  model: string,
): { cell: ObservedCell; engine: EngineReport } | undefined =>
  cells
    .flatMap(cell => {
      const engine = cell.engines.find(
        ({ state, models, reason }) =>
          state === 'cold' && reason === undefined && models.includes(model),
      )
      if (engine === undefined || cell.freeBytes === undefined) return []
      return cell.freeBytes >= (engine.memory_bytes ?? Infinity) ? [{ cell, engine }] : []
    })
    .toSorted((a, b) => (b.cell.freeBytes ?? 0) - (a.cell.freeBytes ?? 0))[0]

const memoryEffect = (name: string, { memory_bytes }: EngineReport): Recommendation['effect'] =>
  memory_bytes === undefined ? [] : [{ name, value: memory_bytes, unit: 'bytes' }]

/** Models that nobody used for an hour and that no operator keeps loaded. */
const recommendUnload = (
  cell: ObservedCell,
  requests: OptimizeFacts['requests'],
): Recommendation[] =>
  cell.engines
    .filter(
      ({ state, pinned, idle_seconds = 0 }) =>
        state === 'ready' && pinned !== true && idle_seconds >= IDLE_SECONDS,
    )
    .flatMap(engine => {
      const [model] = engine.models
      if (model === undefined) return []
      const asked = engine.models.reduce((all, id) => all + (requests.get(id) ?? 0), 0)
      return [
        {
          kind: 'unload',
          cellId: cell.id,
          model,
          reason: `idle for ${Math.floor((engine.idle_seconds ?? 0) / 60)} minutes; ${asked} requests in 24 hours on the fleet`,
          effect: memoryEffect('memory_freed', engine),
          step: { operation: 'cells-unload', input: { cell_id: cell.id, model } },
        },
      ]
    })

/** Requests waited while the GPU had room: more slots would serve them. */
const recommendSlots = (cell: ObservedCell): Recommendation[] => {
  const { slotsBusyPercent, gpuPercent, queued } = cell
  const isHeld = (slotsBusyPercent.mean ?? 0) > BUSY_PERCENT && (queued.max ?? 0) > 0
  if (!isHeld || gpuPercent.mean === null || gpuPercent.mean >= SLACK_GPU_PERCENT) return []
  const slots = cell.engines
    .filter(({ state }) => state === 'ready')
    .reduce((all, engine) => all + engine.slots, 0)
  const added = Math.max(1, Math.floor(slots / 2))
  return [
    {
      kind: 'slots',
      cellId: cell.id,
      model: undefined,
      reason: `up to ${queued.max} requests waited while the GPUs were used ${gpuPercent.mean} percent`,
      effect: [
        { name: 'slots_added', value: added, unit: 'slots' },
        {
          name: 'slots_busy_expected',
          value: round(((slotsBusyPercent.mean ?? 0) * slots) / (slots + added)),
          unit: 'percent',
        },
      ],
      step: undefined,
      noStepReason:
        'More slots need more memory, which only a trial shows: set inference.slots in the settings of the cell, which rolls back when they fail, or roll it out with rampup-control.',
    },
  ]
}

/** Difference of the mean load of two cells with the same model from which it is reported. */
const UNEVEN_POINTS = 40

/** Cells that have the same model loaded and are used very differently. */
const recommendBalance = ({ cells }: OptimizeFacts): Recommendation[] => {
  const models = new Set(cells.flatMap(cell => modelsIn(cell, ['ready'])))
  const pairs = new Set<string>()
  return [...models].flatMap(model => {
    const loaded = cells
      .filter(cell => modelsIn(cell, ['ready']).includes(model))
      .filter(({ slotsBusyPercent }) => slotsBusyPercent.mean !== null)
      .toSorted((a, b) => (b.slotsBusyPercent.mean ?? 0) - (a.slotsBusyPercent.mean ?? 0))
    const [busiest, calmest] = [loaded[0], loaded.at(-1)]
    const [most, least] = [busiest?.slotsBusyPercent.mean ?? 0, calmest?.slotsBusyPercent.mean ?? 0]
    if (busiest === undefined || calmest === undefined || most - least < UNEVEN_POINTS) return []
    const pair = `${busiest.id} ${calmest.id}`
    if (pairs.has(pair)) return []
    pairs.add(pair)
    return [
      {
        kind: 'imbalance',
        cellId: busiest.id,
        model,
        reason: `busy ${most} percent, while ${calmest.id} with the same model was busy ${least} percent; look for a dedication or long shared prompts`,
        effect: [
          { name: 'slots_busy_expected', value: round((most + least) / 2), unit: 'percent' },
        ],
        step: undefined,
        noStepReason:
          'No command moves requests: routing spreads them by free slots and cached prompts. End a dedication of one of the cells, or shorten shared prompts.',
      },
    ]
  })
}
