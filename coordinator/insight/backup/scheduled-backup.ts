import { Worker } from 'node:worker_threads'
import * as z from 'zod'
import { HALF_JITTER } from '../../../shared/back-off.ts'
import { stopTimer, systemRuntime, type Timer } from '../../../shared/runtime.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { defineJobKind, type JobKind } from '../../kernel/queue/job-kind.ts'
import type { ScheduledRequest } from './make-scheduled.ts'

export const SCHEDULED_BACKUP = 'scheduled-backup'

interface KindParts {
  /** Undefined where this coordinator has no schedule: another one does the job. */
  readRequest: () => Promise<Omit<ScheduledRequest, 'since'> | undefined>
  onMade: (made: object) => void
  /** Makes the backup; in a thread of its own by default. */
  make?: (request: ScheduledRequest, signal: AbortSignal) => Promise<object>
}

const RETRY_SECONDS = 60

/** One backup of the schedule; whichever coordinator is free makes it. */
export const createBackupKind = ({ readRequest, onMade, make = runInWorker }: KindParts): JobKind =>
  defineJobKind({
    kind: SCHEDULED_BACKUP,
    payload: z.object({}),
    account: () => ({ project: 'backup' }),
    maxAttempts: 5,
    backOff: { firstMs: RETRY_SECONDS * 1000, maxMs: 3_600_000, jitter: HALF_JITTER },
    concurrency: 1,
    timeoutSeconds: 6 * 3600,
    leaseSeconds: 60,
    keptDays: 30,
    run: async (_payload, { job, signal }) => {
      const request = await readRequest()
      if (request === undefined)
        throw new JobError('this coordinator has no schedule', {
          early: true,
          retryAfterSeconds: RETRY_SECONDS,
        })
      onMade(await make({ ...request, since: job.createdAt }, signal))
    },
  })

/** Answer of the thread. */
type BackupAnswer = { made: object } | { fault: string }

/** Time in which a stopped thread ends its programs, and removes what it has begun. */
const STOPS_WITHIN_MS = 3000

/** Makes a backup in a worker thread, because checking a large database takes seconds. */
const runInWorker = async (request: ScheduledRequest, signal: AbortSignal): Promise<object> => {
  const worker = new Worker(new URL('./backup-worker.ts', import.meta.url), { workerData: request })
  let killing: Timer | undefined
  const stop = () => {
    worker.postMessage('stop')
    killing = systemRuntime.setTimeout(() => void worker.terminate(), STOPS_WITHIN_MS)
  }
  signal.addEventListener('abort', stop, { once: true })
  const { promise, resolve, reject } = Promise.withResolvers<BackupAnswer>()
  worker.once('message', resolve)
  worker.once('error', reject)
  worker.once('exit', code => reject(new JobError(`the backup thread ended with code ${code}`)))
  try {
    const answer = await promise
    if ('fault' in answer) throw new JobError(answer.fault)
    return answer.made
  } finally {
    signal.removeEventListener('abort', stop)
    stopTimer(killing)
  }
}
