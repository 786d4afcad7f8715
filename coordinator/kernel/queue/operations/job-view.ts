import * as z from 'zod'
import { escapeHidden } from '../../../../shared/visible.ts'
import { defineView, own } from '../../declaration/define-view.ts'
import { findCursorRow, Id, NextCursor, PAGE } from '../../declaration/fields.ts'
import { jobTable } from '../job.table.ts'
import type { Job } from '../job.ts'

const view = defineView(jobTable, {
  id: true,
  kind: true,
  state: true,
  project: true,
  team: true,
  priority: 'Priority from 0 to 9; higher priorities run first.',
  cost_eur: own(
    z.number().describe('Expected cost, in euros.'),
    ({ costCents }: Job) => costCents / 100,
  ),
  attempts: 'Attempts started so far.',
  max_attempts: true,
  reason: own(
    z.string().nullable().describe('Why the last attempt failed, or why the job ended.'),
    ({ reason }: Job) => (reason === undefined ? null : escapeHidden(reason)),
  ),
  not_before: true,
  created_at: true,
  changed_at: true,
  ended_at: true,
})
export const JobView = view.schema
export const jobViewOf = view.of

export const JobDetails = JobView.extend({
  lane: z.string().nullable().describe('Lane of the job; jobs of one lane run one after another.'),
  payload: z.json(),
})

export const jobDetailsOf = (job: Job): z.input<typeof JobDetails> => ({
  ...jobViewOf(job),
  lane: job.lane ?? null,
  payload: job.payload as z.core.util.JSONType,
})

export const JOB_PATH = { job_id: Id }

export const JOB_FILTER = {
  kind: z.string().max(64).exactOptional(),
  project: z.string().max(128).exactOptional(),
  team: z.string().max(128).exactOptional(),
  ...PAGE,
}

export const JobPage = z.object({ jobs: z.array(JobView), next: NextCursor })

/** The page with the id where the next one begins. */
export const jobPageOf = (jobs: readonly Job[], limit: number): z.input<typeof JobPage> => ({
  jobs: jobs.map(jobViewOf),
  next: findCursorRow(jobs, limit)?.id ?? null,
})
