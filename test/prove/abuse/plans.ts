import type { Attack } from './attacker.ts'
import type { Behaviour } from './behaviours.ts'
import type { PhasePlan } from './phase.ts'

/** Time in which a connection or a request is seen for what it is, in milliseconds. */
const CLIENT_SETTLE_MS = 1500
/** Time in which a cell has failed often enough to be put aside, in milliseconds. */
const CELL_SETTLE_MS = 5000
/** The least silence after which a request moves to another cell, and a little more, milliseconds. */
const SILENCE_SETTLE_MS = 40_000
const SMALL_SETTLE_MS = 500

interface PlanOptions {
  measureMs: number
  /** Share of the connections of the full attack, up to 1. */
  share: number
}

const clientPlan = (attack: Attack, { measureMs, share }: PlanOptions): PhasePlan => ({
  name: attack,
  settleMs: CLIENT_SETTLE_MS,
  measureMs,
  begin: async scene => {
    const child = await scene.attack('attacker', { attack, share })
    return () => scene.end(child)
  },
})

const cellPlan = (
  behaviours: readonly Behaviour[],
  cells: number,
  { measureMs }: PlanOptions,
  settleMs = CELL_SETTLE_MS,
): PhasePlan => ({
  name: `${cells} ${cells === 1 ? 'cell' : 'cells'}: ${behaviours.join(', ')}`,
  settleMs,
  measureMs,
  begin: async scene => {
    const begun = behaviours.map(behaviour => scene.attack('cell-process', { behaviour }, cells))
    const children = await Promise.all(begun)
    return async () => void (await Promise.all(children.map(child => scene.end(child))))
  },
})

/** Nobody attacks: the figures that the others are compared with. */
export const quietPlan = (measureMs: number): PhasePlan => ({
  name: 'quiet',
  settleMs: CLIENT_SETTLE_MS,
  measureMs,
  begin: async () => async () => {},
})

const CLIENT_ATTACKS: Attack[] = [
  ...(['guesses', 'mqtt-strangers', 'slow-bodies', 'idle', 'slow-readers'] as const),
  ...(['embeddings', 'pipelines'] as const),
]
/** Behaviours, and how many cells behave so beside four honest ones. */
const CELL_ATTACKS: [Behaviour, number][] = [
  ['frames', 1],
  ['reconnects', 4],
  ['telemetry', 2],
  ['html', 2],
  ['resets', 4],
  ['many-slots', 1],
  ['endless', 1],
]

/** Ways to answer pings only. */
const SILENCES: Behaviour[] = ['no-head', 'head-only', 'mute', 'no-streams', 'no-window']

/** Every attack, the ones that cost memory last: a process keeps what it once had. */
export const allPlans = (options: PlanOptions): PhasePlan[] => [
  ...CELL_ATTACKS.map(([behaviour, cells]) => cellPlan([behaviour], cells, options)),
  cellPlan(SILENCES, 1, options, SILENCE_SETTLE_MS),
  ...CLIENT_ATTACKS.map(attack => clientPlan(attack, options)),
]

/** The most telling attacks, in less time. */
export const smallPlans = (options: PlanOptions): PhasePlan[] =>
  [
    cellPlan(['resets'], 2, options),
    clientPlan('slow-bodies', options),
    clientPlan('embeddings', options),
    clientPlan('pipelines', options),
  ].map(plan => ({ ...plan, settleMs: SMALL_SETTLE_MS }))
