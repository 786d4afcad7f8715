import { isPresent, type Presence } from './presence.ts'

/** Listener for the fleet becoming degraded and for its recovery. */
type MassLossListener = (degraded: boolean, missing: number, present: number) => void

export interface MassLoss {
  /**
   * Records a change of a cell's presence; `gone` means it was revoked. A cell that was stopped is
   * not lost. Must be called for every change.
   */
  note(cellId: string, presence: Presence | 'gone'): void
  /** Cells that were missing and present at the last change between whole and degraded. */
  counts(): { missing: number; present: number }
  /** True when so many cells were lost at once that the cause must lie outside them. */
  isDegraded(): boolean
  /** True when the cell was lost while the fleet was degraded, or in the loss that made it so. */
  isMissing(cellId: string): boolean
}

const WINDOW_MS = 10_000
/** Minimum number of lost cells for a mass loss; smaller losses are reported one by one. */
const MINIMUM = 3
/** Share of the cells that may still be missing when the fleet counts as recovered. */
const RECOVERED_SHARE = 0.1

/**
 * Detects the loss of over half of the cells within 10 s, which points to a switch, a power line or
 * our own network rather than to the machines. The cells stay in the registry, and a single alert
 * covers all of them.
 */
export const createMassLoss = (
  nowMs: () => number,
  onChange: MassLossListener = () => {},
): MassLoss => {
  const present = new Set<string>()
  /**
   * Cells lost within the window, with the time of each; while the fleet is degraded, all missing
   * cells.
   */
  const lost = new Map<string, number>()
  let degraded = false
  let counts = { missing: 0, present: 0 }

  const forgetOld = (): void => {
    if (degraded) return
    for (const [cellId, at] of lost) {
      if (nowMs() - at <= WINDOW_MS) break
      lost.delete(cellId)
    }
  }

  const judge = (): void => {
    forgetOld()
    const total = lost.size + present.size
    const next = degraded
      ? lost.size > RECOVERED_SHARE * total
      : lost.size >= MINIMUM && lost.size > total / 2
    if (next === degraded) return
    degraded = next
    counts = { missing: lost.size, present: present.size }
    onChange(degraded, lost.size, present.size)
    if (!degraded) lost.clear()
  }

  const note: MassLoss['note'] = (cellId, presence) => {
    const wasPresent = present.has(cellId)
    if (presence === 'gone' || presence === 'stopped') {
      present.delete(cellId)
      lost.delete(cellId)
    } else if (presence === 'dead') {
      present.delete(cellId)
      if (wasPresent) lost.set(cellId, nowMs())
    } else if (isPresent(presence)) {
      present.add(cellId)
      lost.delete(cellId)
    }
    judge()
  }

  return {
    note,
    counts: () => counts,
    isDegraded: () => degraded,
    isMissing: cellId => degraded && lost.has(cellId),
  }
}
