import type { Tolerances } from '../../../devices/swarm/clearance.ts'
import type { Anchor, Formation } from '../../../devices/swarm/formation.ts'
import { centroidOf } from '../../../devices/swarm/formation.ts'
import { planFormation } from '../../../devices/swarm/plan-formation.ts'
import type { Place, PlannedFormation, Stage } from '../../../devices/swarm/planned-formation.ts'
import { ShoalError } from '../../../shared/errors.ts'
import {
  type FormationParams,
  type FormationStage,
  MAX_FORMATION_SECONDS,
  MAX_FORMATION_UNITS,
  type SiteOrigin,
} from '../../../shared/wire/formation.ts'
import type { AnchorInput, SwarmConfig } from './config.ts'
import { type Exclusion, originOf, type SwarmUnit } from './members.ts'

/** A formation that somebody asks for. */
export interface SwarmRequest {
  formation: Formation
  spacing_m: number
  anchor?: AnchorInput | undefined
}

/** Formation of the units of one or more cells, planned and not carried out. */
export interface PlannedSwarm {
  request: SwarmRequest & { anchor: AnchorInput }
  planned: PlannedFormation
  units: readonly SwarmUnit[]
  excluded: readonly Exclusion[]
  /** Part of each cell, in the order of their ids. */
  cells: readonly { cell_id: string; params: FormationParams }[]
  /** Largest error of a position that the plan bears. */
  position_m: number
  /** Origin of the frame of the site, where it has one. */
  origin: SiteOrigin | undefined
}

/**
 * Pause between two stages over several cells, in milliseconds: time in which a failure on one cell
 * stops the others.
 */
const CELLS_PAUSE_MS = 3000

/**
 * Plans a formation. Devices that take no part and whose place is known are obstacles.
 * @throws ShoalError conflict without a unit, or where no plan keeps the distances
 */
export const planSwarm = (
  units: readonly SwarmUnit[],
  excluded: readonly Exclusion[],
  { formation, spacing_m, anchor: given, site }: SwarmRequest & { site: string | null },
  config: SwarmConfig,
): PlannedSwarm => {
  requireUnits(units, excluded)
  const { margin_m } = config
  const { position_m, skew_ms, pause_ms } = chooseTolerances(
    [...units, ...excluded.filter(({ place }) => place)],
    config,
  )
  const origin = originOf(site, config)
  const anchor = given ?? config.anchor ?? chooseAnchor(units)
  const cellIds = [...new Set(units.map(({ device }) => device.cellId))].sort()
  const planned = planFormation(units, {
    formation,
    spacing_m,
    anchor: toAnchor(anchor),
    tolerances: { position_m, skew_ms },
    margin_m,
    pause_ms: Math.max(pause_ms, cellIds.length > 1 ? CELLS_PAUSE_MS : 0),
    obstacles: excluded.flatMap(({ device, place }) =>
      place === undefined ? [] : [{ device_id: device.id, place }],
    ),
  })
  if (planned.duration_s > MAX_FORMATION_SECONDS)
    throw new ShoalError(
      'conflict',
      `the formation would take ${Math.ceil(planned.duration_s)} s, and ${MAX_FORMATION_SECONDS} s ` +
        'are allowed; choose a nearer place or fewer units',
    )
  const cellOf = new Map(units.map(({ device }) => [device.id, device.cellId]))
  const cells = cellIds.flatMap(cell_id => {
    const stages = planned.stages.flatMap(stage =>
      toCellStage(stage, id => cellOf.get(id) === cell_id),
    )
    const isOnGlobe = units.some(unit => unit.device.cellId === cell_id && unit.frame === 'wgs84')
    const params = { position_m, skew_ms, stages, ...(isOnGlobe && origin && { origin }) }
    return stages.length === 0 ? [] : [{ cell_id, params }]
  })
  const request = { formation, spacing_m, anchor }
  return { request, planned, units, excluded, cells, position_m, origin }
}

/** Tolerances of the configuration; one on the globe has larger errors, and takes time to settle. */
const chooseTolerances = (
  known: readonly Pick<Exclusion, 'frame'>[],
  { position_m, skew_ms, globe }: SwarmConfig,
): Tolerances & { pause_ms: number } =>
  known.some(({ frame }) => frame === 'wgs84')
    ? {
        position_m: Math.max(position_m, globe.position_m),
        skew_ms: Math.max(skew_ms, globe.skew_ms),
        pause_ms: globe.settle_seconds * 1000,
      }
    : { position_m, skew_ms, pause_ms: 0 }

const requireUnits = (units: readonly SwarmUnit[], excluded: readonly Exclusion[]): void => {
  if (units.length > MAX_FORMATION_UNITS)
    throw new ShoalError(
      'conflict',
      `a formation has at most ${MAX_FORMATION_UNITS} units, and ${units.length} are here; ` +
        'name its members',
      { param: 'members' },
    )
  if (units.length > 0) return
  const why = excluded.slice(0, 5).map(({ device, message }) => `${device.facts.name}: ${message}`)
  throw new ShoalError(
    'conflict',
    `no device can take part${why.length === 0 ? '' : `; ${why.join('; ')}`}`,
  )
}

const toAnchor = ({ x_m, y_m, heading_degrees }: AnchorInput): Anchor => ({
  x: x_m,
  y: y_m,
  heading_degrees,
})

/** Centre of the units in decimetres, so that small drifts do not move it. */
const chooseAnchor = (units: readonly SwarmUnit[]): AnchorInput => {
  const { x, y } = centroidOf(units.map(({ place }) => place))
  return { x_m: Math.round(x * 10) / 10, y_m: Math.round(y * 10) / 10, heading_degrees: 0 }
}

/** Moves of one cell in a stage; none when its units stand. */
const toCellStage = (
  { begins_s, scale, moves }: Stage,
  isHere: (deviceId: string) => boolean,
): FormationStage[] => {
  const here = moves.filter(({ device_id }) => isHere(device_id))
  if (here.length === 0) return []
  return [
    {
      begins_s: roundTo(begins_s, 1000),
      duration_s: roundTo(scale.duration_s, 1000),
      moves: here.map(({ device_id, from, to, pace }) => ({
        device_id,
        from: toTuple(from),
        to: toTuple(to),
        speed_m_s: roundTo(pace.speed_m_s, 1e5),
        delay_s: roundTo(pace.delay_s, 1000),
      })),
    },
  ]
}

const roundTo = (value: number, steps: number): number => Math.round(value * steps) / steps

/** Whole millimetres, so that people can read them. */
const toTuple = ({ x, y, altitude_m }: Place): [number, number, number] => [
  roundTo(x, 1000),
  roundTo(y, 1000),
  roundTo(altitude_m, 1000),
]
