/**
 * Distinguishes a copied machine from one that restarts often. Every start of a daemon has a new
 * boot id, kept only in memory: an id that returns after another one was seen belongs to a second
 * process that has been running all the time.
 */
export interface Clones {
  /** Records a connection. Returns true when two machines certainly use the cell's identity. */
  noteArrival(cellId: string, bootId: string): boolean
  /** Start of the daemon that connected here last. */
  findNewest(cellId: string): string | undefined
  /** Forgets all starts of a cell. */
  forget(cellId: string): void
}

/** Changes of the boot id that prove a clone, at least one of them back to an earlier id … */
const TAKEOVERS = 3
/** … within this time. */
const WINDOW_MS = 60_000
/** Number of boot ids remembered per cell. */
const REMEMBERED = 16

interface Seen {
  /** Boot ids, newest last. */
  bootIds: string[]
  takeovers: { atMs: number; back: boolean }[]
}

export const createClones = (nowMs: () => number): Clones => {
  const cells = new Map<string, Seen>()

  const noteArrival = (cellId: string, bootId: string): boolean => {
    const seen = cells.get(cellId) ?? { bootIds: [], takeovers: [] }
    cells.set(cellId, seen)
    if (seen.bootIds.at(-1) === bootId) return false
    if (seen.bootIds.length > 0) {
      const since = nowMs() - WINDOW_MS
      const recent = seen.takeovers.filter(({ atMs }) => atMs > since)
      seen.takeovers = [...recent, { atMs: nowMs(), back: seen.bootIds.includes(bootId) }]
    }
    seen.bootIds = [...seen.bootIds.filter(id => id !== bootId), bootId].slice(-REMEMBERED)
    return seen.takeovers.length >= TAKEOVERS && seen.takeovers.some(({ back }) => back)
  }

  return {
    noteArrival,
    findNewest: cellId => cells.get(cellId)?.bootIds.at(-1),
    forget: cellId => void cells.delete(cellId),
  }
}
