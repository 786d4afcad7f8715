import { parentPort, workerData } from 'node:worker_threads'
import { makeScheduled, type ScheduledRequest } from './make-scheduled.ts'

/* Thread of `scheduled-backup.ts`: checking a large database takes seconds. */

const answer = await makeScheduled(workerData as ScheduledRequest).then(
  made => ({ made }),
  (error: Error) => ({ fault: error.message }),
)
parentPort?.postMessage(answer)
