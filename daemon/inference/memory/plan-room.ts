/** An engine that has a process, as far as its memory is concerned. */
export interface Resident {
  name: string
  /** By our estimate. */
  needBytes: number
  /** What the machine shows of it now; undefined when it does not tell. */
  seenBytes: number | undefined
  /** Milliseconds, by a clock that never jumps. */
  lastUsedAt: number
  /** When it was loaded, by the same clock; absent until then. */
  readyAt?: number | undefined
  /** It answers, loads, or has somebody waiting. */
  busy: boolean
  pinned: boolean
}

export interface Memory {
  totalBytes: number
  /** By everybody, as the machine shows it. */
  usedBytes: number
}

export interface RoomQuestion {
  needBytes: number
  memory: Memory
  /** Above this share of the whole nothing is loaded. */
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
 * Whether an engine fits, and which others have to go for it: those with nothing to do and not
 * pinned, the one that was used longest ago first, and none when that would not help. What an
 * engine will take and does not show yet counts as used.
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
