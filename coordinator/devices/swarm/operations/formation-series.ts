import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { StartedFormation } from '../formation.table.ts'

const HOUR_MS = 3_600_000
/** Most formations that a series looks at; the oldest are left out. */
export const MAX_IN_SERIES = 1000

/** Formations that were started in one hour. */
export const FormationBucket = z.object({
  at: z.iso.datetime(),
  started: z.int(),
  reached: z.int(),
  aborted: z.int(),
  failed: z.int(),
  /** Units that were moved. */
  units: z.int(),
})

/** Counts formations by the hour of their start, oldest first. */
export const countByHour = (
  formations: readonly StartedFormation[],
): z.input<typeof FormationBucket>[] => {
  const hours = Map.groupBy(formations, one => Math.floor(one.createdAt / HOUR_MS) * HOUR_MS)
  return [...hours]
    .sort(([a], [b]) => a - b)
    .map(([at, started]) => ({
      at: iso(at),
      started: started.length,
      reached: countState(started, 'reached'),
      aborted: countState(started, 'aborted'),
      failed: countState(started, 'failed'),
      units: started.reduce((sum, { plan }) => sum + plan.units.length, 0),
    }))
}

export const countState = (
  formations: readonly StartedFormation[],
  state: StartedFormation['state'],
): number => formations.filter(one => one.state === state).length
