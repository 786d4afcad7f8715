import * as z from 'zod'
import { EngineReport, ModelState } from './telemetry.ts'

/** State of a model on a cell; the result of a command such as `model-load`. */
export const ModelStanding = z.object({
  model: z.string().max(128),
  state: ModelState,
  pinned: z.boolean(),
  ...EngineReport.pick({
    phase: true,
    progress_percent: true,
    remaining_seconds: true,
    reason: true,
  }).shape,
})
export type ModelStanding = z.infer<typeof ModelStanding>
