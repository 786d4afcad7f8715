/** Memory of an engine that has a process. */
export interface Resident {
  name: string
  /** Estimated memory of the engine. */
  needBytes: number
  /** Measured memory of the engine; undefined when the machine does not report it. */
  seenBytes: number | undefined
  /** Milliseconds, by a clock that never jumps. */
  lastUsedAt: number
  /** Time when it was loaded, by the same clock; absent before. */
  readyAt?: number | undefined
  /** True while it answers, loads, or has requests waiting. */
  busy: boolean
  pinned: boolean
}

export interface Memory {
  totalBytes: number
  /** Memory used by all processes, as the machine reports it. */
  usedBytes: number
}

interface RoomQuestion {
  needBytes: number
  memory: Memory
  /** Share of the total above which nothing is loaded. */
  limitPercent: number
  residents: readonly Resident[]
  /** Others may be ended for it. */
  mayEvict: boolean
}

export type RoomPlan =
  /** Names of the engines that have to end first, in this order. */
  | { fits: true; evict: string[] }
  /** `ever`: false when it would not fit into the empty machine either. */
  | { fits: false; ever: boolean; freeBytes: number }

/**
 * Decides whether an engine fits, and which others must end for it: idle and not pinned ones, the
 * least recently used first, and none when that would not suffice. Memory that an engine will take
 * and that is not visible yet counts as used.
 */
export const planRoom = ({
  needBytes,
  memory,
  limitPercent,
  residents,
  mayEvict,
}: RoomQuestion): RoomPlan => {
  const mostBytes = (memory.totalBytes * limitPercent) / 100
  if (needBytes > mostBytes) return { fits: false, ever: false, freeBytes: mostBytes }
  const usedBytes = residents.reduce((sum, each) => sum + hiddenBytes(each), memory.usedBytes)
  let freeBytes = mostBytes - usedBytes
  const evict: string[] = []
  for (const each of mayEvict ? evictable(residents) : []) {
    if (needBytes <= freeBytes) break
    freeBytes += Math.max(each.needBytes, each.seenBytes ?? 0)
    evict.push(each.name)
  }
  return needBytes <= freeBytes
    ? { fits: true, evict }
    : { fits: false, ever: true, freeBytes: Math.max(0, mostBytes - usedBytes) }
}

const hiddenBytes = ({ needBytes, seenBytes = 0 }: Resident): number =>
  Math.max(0, needBytes - seenBytes)

const evictable = (residents: readonly Resident[]): Resident[] =>
  residents
    .filter(({ busy, pinned }) => !busy && !pinned)
    .sort((a, b) => a.lastUsedAt - b.lastUsedAt)
