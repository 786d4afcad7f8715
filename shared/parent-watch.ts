import { Worker } from 'node:worker_threads'

const THREAD = new URL('parent-watch-thread.ts', import.meta.url)

/**
 * Kills this process when its parent has ended, even while foreign work holds the event loop, which
 * keeps the process from noticing that its channel has closed.
 */
export const endWithParent = (): void => new Worker(THREAD).unref()
