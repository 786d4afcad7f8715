import { getHeapStatistics } from 'node:v8'
import type { Logger } from 'pino'

const LOOK_EVERY_MS = 1000
/** Share of V8's limit at which garbage collection soon takes all of the time. */
const NEARLY_FULL = 0.9
const MIB = 1024 * 1024

interface HeapWatchOptions {
  logger: Pick<Logger, 'error'>
  signal: AbortSignal
  /** Bytes in use, and the limit of V8. */
  readHeap?: () => { used_heap_size: number; heap_size_limit: number }
  everyMs?: number
}

/**
 * Logs when the heap of V8 is nearly full, once each time: V8 then ends the process, which cannot
 * say anything about it any more.
 */
export const watchHeap = ({
  logger,
  signal,
  readHeap = getHeapStatistics,
  everyMs = LOOK_EVERY_MS,
}: HeapWatchOptions): void => {
  let isReported = false
  const timer = setInterval(() => {
    const { used_heap_size, heap_size_limit } = readHeap()
    const isNearlyFull = used_heap_size > heap_size_limit * NEARLY_FULL
    if (isNearlyFull && !isReported)
      logger.error(
        {
          used_mib: Math.round(used_heap_size / MIB),
          limit_mib: Math.round(heap_size_limit / MIB),
        },
        'the heap is nearly full, and the process ends when it is: raise --max-old-space-size, and MemoryMax with it (docs/limits.md)',
      )
    isReported = isNearlyFull
  }, everyMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
}
