import { Worker } from 'node:worker_threads'

const THREAD = new URL('parent-watch-thread.ts', import.meta.url)

/**
 * Ends this child process with its parent, and only with it: a signal to the whole group or service is
 * for the parent, which still needs answers until it has drained. A thread watches the parent, since
 * foreign work that holds the event loop keeps the process from noticing that its channel has closed.
 */
export const endWithParent = (): void => {
  process.on('disconnect', () => process.exit())
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  new Worker(THREAD).unref()
}
