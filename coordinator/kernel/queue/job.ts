import type { EntityOf } from '../store/define-table.ts'
import type { jobTable } from './job.table.ts'

/**
 * States of a job. `dead` was given up; the job stays until it is discarded or its retention ends.
 */
export const JOB_STATES = ['queued', 'running', 'done', 'dead', 'cancelled'] as const
export const OPEN_JOB_STATES: readonly JobState[] = ['queued', 'running']
/** States that a job does not leave by itself. */
export const FINAL_JOB_STATES: readonly JobState[] = ['done', 'dead', 'cancelled']
export type JobState = (typeof JOB_STATES)[number]

/** Unit of work to be done later, at least once. */
export type Job = EntityOf<typeof jobTable>
