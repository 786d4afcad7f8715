import * as z from 'zod'
import { Asked, Seen } from '../../../shared/wire/device-outcome.ts'
import { FormationStage, SiteOrigin } from '../../../shared/wire/formation.ts'
import { growingWords, integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import type { FormationPart } from './formation-part.table.ts'

/**
 * `running` until all cells have reported; `aborting` while cells bring their units to rest, then
 * `aborted` for a person's abort and `failed` for every other reason.
 */
const FORMATION_STATES = ['running', 'aborting', 'reached', 'aborted', 'failed'] as const
export type FormationState = (typeof FORMATION_STATES)[number]
export const OPEN_FORMATION_STATES: readonly FormationState[] = ['running', 'aborting']

/** Part of an approved plan that the coordinator needs; the plan has more for people. */
const ApprovedFormation = z.looseObject({
  formation: z.string(),
  position_m: z.number(),
  /** Origin of the frame, where a unit knows its position on the globe. */
  origin: SiteOrigin.optional(),
  /** Least distance between a unit and anything else. */
  required_m: z.number(),
  units: z.array(
    z.looseObject({
      device_id: z.string(),
      cell_id: z.string(),
      name: z.string(),
      slot: z.array(z.number()),
    }),
  ),
  cells: z.array(
    z.looseObject({
      cell_id: z.string(),
      params: z.looseObject({ stages: z.array(FormationStage) }),
    }),
  ),
})
export type ApprovedFormation = z.infer<typeof ApprovedFormation>

/** End of a unit. */
const UnitOutcome = z.object({
  device_id: z.string(),
  cell_id: z.string(),
  /** Distance from its slot; null when it is not known. */
  distance_m: z.number().nullable(),
  reached: z.boolean(),
  /** Operations of its newest move, and the state observed; absent before the first. */
  asked: Asked.exactOptional(),
  seen: Seen.exactOptional(),
})
export type UnitOutcome = z.infer<typeof UnitOutcome>

/** A formation that was started. Times are unix milliseconds. */
export const formationTable = defineTable('formations', {
  columns: {
    id: text(),
    tenant_id: text(),
    /** Request at the gate that it used up. */
    request_id: text(),
    formation: text(),
    state: growingWords(FORMATION_STATES),
    /** The plan as people approved it. */
    plan_json: json(ApprovedFormation),
    created_by: text(),
    /** Number of units in the plan. */
    units: integer(),
    created_at: time(),
    start_at: time(),
    /** Time at which it ends by its plan. */
    ends_at: time(),
    changed_at: time(),
    ended_at: optional(time()),
    /** Reason of an end other than by the plan. */
    reason: optional(text()),
    /** Key or person that has aborted it; undefined where the coordinator did. */
    stopped_by: optional(text()),
    /** End of each unit; undefined before. */
    outcome_json: optional(json(z.array(UnitOutcome))),
  },
  key: ['id'],
  indexes: {
    formations_state: ['state'],
  },
})

export interface StartedFormation extends Omit<EntityOf<typeof formationTable>, 'units'> {
  parts: readonly FormationPart[]
}

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    formations: TableOf<typeof formationTable>
  }
}
