import * as z from 'zod'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { rampUpTable } from './ramp-up.table.ts'

export const RAMP_UP_STATES = ['running', 'done', 'aborted'] as const
export type RampUpState = (typeof RAMP_UP_STATES)[number]

/** Settings for cells, in stages. */
export const RampUpPlan = z.object({
  document: z.record(z.string(), z.unknown()),
  /** Cells that each stage adds. */
  stages: z.array(z.array(z.string())),
  apply_seconds: z.number(),
  hold_seconds: z.number(),
  error_rise_percent: z.number(),
  min_requests: z.number(),
})
export type RampUpPlan = z.infer<typeof RampUpPlan>

/** A plan with the documents that its cells had before, by cell; absent for a cell without one. */
export const StartedPlan = RampUpPlan.extend({
  before: z.record(z.string(), z.record(z.string(), z.unknown())),
})

/** One ramp-up. */
export type RampUp = EntityOf<typeof rampUpTable>

/** Cells that have their settings by now, those of the stage in progress included. */
export const cellsSoFar = ({ plan, stage }: RampUp): string[] =>
  plan.stages.slice(0, stage + 1).flat()

/** Divides cells into stages, in order of their ids; every stage has at least one cell. */
export const planStages = (
  cellIds: readonly string[],
  stagesPercent: readonly number[],
): string[][] => {
  const sorted = cellIds.toSorted()
  let from = 0
  return stagesPercent.flatMap(percent => {
    const until = Math.ceil((sorted.length * percent) / 100)
    const stage = sorted.slice(from, until)
    from = Math.max(from, until)
    return stage.length === 0 ? [] : [stage]
  })
}
