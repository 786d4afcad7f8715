import * as z from 'zod'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import { escapeHidden } from '../../../../shared/visible.ts'
import { findCursorRow, Id, NextCursor, PAGE } from '../../declaration/fields.ts'
import { JOB_STATES, type Job } from '../job.ts'

const time = z.iso.datetime()

export const JobView = z.object({
  id: z.string(),
  kind: z.string(),
  state: z.enum(JOB_STATES),
  project: z.string().nullable(),
  team: z.string().nullable(),
  priority: z.int().describe('Priority from 0 to 9; higher priorities run first.'),
  cost_eur: z.number().describe('Expected cost, in euros.'),
  attempts: z.int().describe('Attempts started so far.'),
  max_attempts: z.int(),
  reason: z.string().nullable().describe('Why the last attempt failed, or why the job ended.'),
  not_before: time,
  created_at: time,
  changed_at: time,
  ended_at: time.nullable(),
})

export const JobDetails = JobView.extend({
  lane: z.string().nullable().describe('Lane of the job; jobs of one lane run one after another.'),
  payload: z.json(),
})

export const jobViewOf = (job: Job): z.input<typeof JobView> => ({
  id: job.id,
  kind: job.kind,
  state: job.state,
  project: job.project ?? null,
  team: job.team ?? null,
  priority: job.priority,
  cost_eur: job.costCents / 100,
  attempts: job.attempts,
  max_attempts: job.maxAttempts,
  reason: job.reason === undefined ? null : escapeHidden(job.reason),
  not_before: iso(job.notBefore),
  created_at: iso(job.createdAt),
  changed_at: iso(job.changedAt),
  ended_at: isoOrNull(job.endedAt),
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
