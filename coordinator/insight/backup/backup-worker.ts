import { parentPort, workerData } from 'node:worker_threads'
import { makeScheduled, type ScheduledRequest } from './make-scheduled.ts'

/* Thread of `scheduled-backup.ts`: checking a large database takes seconds. Any message stops it. */

const stop = new AbortController()
parentPort?.once('message', () => stop.abort())
const request = { ...(workerData as ScheduledRequest), signal: stop.signal }
const answer = await makeScheduled(request).then(
  made => ({ made }),
  (error: Error) => ({ fault: error.message }),
)
parentPort?.postMessage(answer)
parentPort?.close()
