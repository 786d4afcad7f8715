import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { Json } from '../../../devices/profile.ts'
import type { Point } from '../../../devices/swarm/formation.ts'
import { createSiteFrame } from '../../../devices/swarm/site-frame.ts'
import { canonicalHash } from '../../../shared/canonical-hash.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { VerbName } from '../../../shared/wire/command.ts'
import {
  FormationMove,
  FormationParams,
  FormationStage,
  type SiteOrigin,
} from '../../../shared/wire/formation.ts'
import { LIVE_GATE, type PlanPart } from '../../../shared/wire/plan-part.ts'
import type { Verb } from '../../commands/verb.ts'

/** Verbs that move a device to a position of the local frame, the preferred one first. */
const MOVE_VERBS = ['move-to', 'go-to']

/** Verb of a device of this cell, in the company of the units that the same plan moves. */
export type FindUnitVerb = (
  deviceId: string,
  verb: string,
  companions: ReadonlySet<string>,
) => Verb | undefined

/** A move of a unit, resolved to the verb of its device. */
export interface UnitPlan {
  move: FormationMove
  /** Index of its stage. */
  stage: number
  verb: Verb
  /** Effect of the verb; unsafe, because a formation is. */
  part: PlanPart
}

/**
 * Resolves the moves of a formation with the verbs that the devices have for single moves.
 * @throws ShoalError not_found for a device without such a verb, and conflict for one whose verb
 * needs a gate of its own
 */
export const planUnits = (
  cellId: string,
  { stages, origin }: Pick<FormationParams, 'stages' | 'origin'>,
  findVerb: FindUnitVerb,
): UnitPlan[] =>
  planMoves(
    { cellId, origin },
    stages.flatMap(({ moves }, stage) => moves.map(move => ({ move, stage }))),
    findVerb,
  )

/**
 * Resolves the moves of a plan again.
 * @throws ShoalError conflict where a device would now do something else than what is planned
 */
export const readUnits = (
  { cell_id: cellId, operations, bounds }: Pick<PlanPart, 'cell_id' | 'operations' | 'bounds'>,
  findVerb: FindUnitVerb,
): UnitPlan[] => {
  const planned = operations.map(operation => UnitOperation.parse(operation))
  const moves = planned.map(({ stage, verb, operations, bounds_hash, ...move }) => ({
    move,
    stage,
  }))
  const units = planMoves({ cellId, origin: readBounds({ bounds }).origin }, moves, findVerb)
  const changed = units.find(
    (unit, index) => !isDeepStrictEqual(toOperation(unit), operations[index]),
  )
  if (changed === undefined) return units
  throw new ShoalError(
    'conflict',
    `the limits of ${changed.move.device_id} have changed; plan again`,
  )
}

/** Cell of some moves, and the origin of their frame. */
interface MovePlace {
  cellId: string
  origin: SiteOrigin | undefined
}

const planMoves = (
  place: MovePlace,
  moves: readonly Pick<UnitPlan, 'move' | 'stage'>[],
  findVerb: FindUnitVerb,
): UnitPlan[] => {
  const companions = new Set(moves.map(({ move }) => move.device_id))
  return moves.map(({ move, stage }) => {
    const verb = findMoveVerb(move.device_id, companions, findVerb)
    return { move, stage, verb, part: createUnitPart(place, move, verb) }
  })
}

const findMoveVerb = (
  deviceId: string,
  companions: ReadonlySet<string>,
  findVerb: FindUnitVerb,
): Verb => {
  for (const name of MOVE_VERBS) {
    const verb = findVerb(deviceId, name, companions)
    if (verb !== undefined) return verb
  }
  throw new ShoalError(
    'not_found',
    `${deviceId} is not a device of this cell that can move to a position`,
  )
}

/** The approval of a formation stands for that of a single move, and for no other gate. */
const createUnitPart = (
  { cellId, origin }: MovePlace,
  move: FormationMove,
  verb: Verb,
): PlanPart => {
  const { operations, bounds, gate = LIVE_GATE } = verb.plan(parseParams(move, verb, origin))
  if (gate !== LIVE_GATE)
    throw new ShoalError(
      'conflict',
      `${verb.verb} of ${move.device_id} needs ${gate}, which a formation cannot satisfy; ` +
        'leave the device out',
    )
  return {
    cell_id: cellId,
    device_id: move.device_id,
    verb: verb.verb,
    hazard: 'unsafe',
    operations,
    bounds,
  }
}

/** A verb without an altitude is one of a device that stays on the ground. */
const parseParams = (
  { device_id, to, speed_m_s }: FormationMove,
  verb: Verb,
  origin: SiteOrigin | undefined,
) => {
  const [x, y, altitude_m] = to
  const { shape } = verb.params
  const place = Object.hasOwn(shape, 'lat')
    ? toGlobe(device_id, { x, y }, origin)
    : { x_m: x, y_m: y }
  const isFlying = Object.hasOwn(shape, 'altitude_m')
  return verb.params.parse({ ...place, speed_m_s, ...(isFlying && { altitude_m }) })
}

/** Degrees of a place, in steps of a centimetre: finer ones no autopilot takes. */
const toGlobe = (deviceId: string, place: Point, origin: SiteOrigin | undefined) => {
  if (origin === undefined)
    throw new ShoalError(
      'conflict',
      `${deviceId} knows its position on the globe, and the plan has no origin of the site; ` +
        'set swarm.origins of the coordinator',
    )
  const found = createSiteFrame(origin).toGlobe(place)
  if (found === undefined)
    throw new ShoalError('conflict', `the place of ${deviceId} is too far from the origin`)
  return { lat: roundTo1e7(found.lat), lon: roundTo1e7(found.lon) }
}

const roundTo1e7 = (degrees: number): number => Math.round(degrees * 1e7) / 1e7

/** Move of a unit in the plan that people approve: what its device is sent, and what bounds it. */
const UnitOperation = FormationMove.extend({
  stage: z.int().nonnegative(),
  verb: VerbName,
  operations: z.array(z.json()),
  bounds_hash: z.string(),
})

const toOperation = ({ move, stage, verb, part }: UnitPlan): Json => ({
  ...move,
  stage,
  verb: verb.verb,
  operations: part.operations,
  bounds_hash: canonicalHash(part.bounds),
})

/** Bounds of a formation on one cell. */
const FormationBounds = FormationParams.pick({
  position_m: true,
  skew_ms: true,
  origin: true,
}).extend({
  stages: z.array(FormationStage.pick({ begins_s: true, duration_s: true })),
})
export type FormationBounds = z.infer<typeof FormationBounds>

export const readBounds = ({ bounds }: Pick<PlanPart, 'bounds'>): FormationBounds =>
  FormationBounds.parse(bounds)

/** The plan as people approve it, without the start. */
export const toFormationPlan = (
  { position_m, skew_ms, origin, stages }: FormationParams,
  units: readonly UnitPlan[],
): Pick<PlanPart, 'operations' | 'bounds'> => ({
  operations: units.map(toOperation),
  bounds: {
    position_m,
    skew_ms,
    ...(origin && { origin }),
    stages: stages.map(({ begins_s, duration_s }) => ({ begins_s, duration_s })),
  },
})
