import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { countDamagedRows } from '../store/damaged-rows.ts'
import type { StoreProbe } from '../store/probe.ts'

/** Health of the coordinator process and its state folder. */
export interface Vitals {
  uptimeSeconds(): number
  brokerConnected(): boolean
  /** Reason why the store is unreliable now; undefined while it is not. */
  storeProblem(): string | undefined
  /** Description of missing usage records; undefined while they are complete. */
  usageProblem(): string | undefined
  /** Number of stored rows that could not be read when they were last tried. */
  damagedRows(): number
  /** Metrics of the file system of the state folder. Rejects when they cannot be read. */
  disk(): Promise<{ freeBytes: number; totalBytes: number }>
  /** Longest delay of the event loop in the last one to two minutes, milliseconds. */
  loopDelayMs(): number
  /** Begins the next window of `loopDelayMs`; called once a minute. */
  beginWindow(): void
  close(): void
}

/** Health of the coordinator process, as operations see it. */
export interface VitalViews {
  vitals: Omit<Vitals, 'close' | 'beginWindow'>
}

interface VitalsParts {
  usage: { trouble(): string | undefined }
  store: Pick<StoreProbe, 'trouble'>
  stateDir: string
  brokerConnected: () => boolean
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Length of a window of `loopDelayMs`. */
export const LOOP_WINDOW_SECONDS = 60

export const createVitals = ({
  store,
  usage,
  stateDir,
  brokerConnected,
  nowMs,
}: VitalsParts): Vitals => {
  const startedMs = nowMs()
  const loop = watchLoop()
  const disk: Vitals['disk'] = async () => {
    const { bavail, blocks, bsize } = await statfs(stateDir)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  }
  return {
    uptimeSeconds: () => Math.floor((nowMs() - startedMs) / 1000),
    brokerConnected,
    storeProblem: store.trouble,
    usageProblem: usage.trouble,
    damagedRows: () => Object.values(countDamagedRows()).reduce((sum, count) => sum + count, 0),
    disk,
    loopDelayMs: loop.worstMs,
    beginWindow: loop.beginWindow,
    close: loop.close,
  }
}

/** Node records the whole time between two looks, so the time that was to pass is taken off. */
const LOOK_EVERY_MS = 50

/** Two windows, so that a reader never meets an empty one and never disturbs another reader. */
const watchLoop = () => {
  const histogram = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS })
  histogram.enable()
  let before = 0
  return {
    worstMs: () => Math.max(0, Math.max(before, histogram.max) / 1e6 - LOOK_EVERY_MS),
    beginWindow: () => {
      before = histogram.max
      histogram.reset()
    },
    close: () => void histogram.disable(),
  }
}
