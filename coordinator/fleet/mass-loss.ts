import { isPresent, type Presence } from './presence.ts'

/** Told when the fleet becomes degraded, and when it has recovered. */
export type MassLossListener = (degraded: boolean, missing: number, present: number) => void

export interface MassLoss {
  /** Every change of a cell's presence; `gone` when it was revoked. */
  note(cellId: string, presence: Presence | 'gone'): void
  /** So many cells were lost at once that the cause is not theirs. */
  degraded(): boolean
  /** Lost while the fleet was degraded, or in the loss that made it so. */
  missing(cellId: string): boolean
}

const WINDOW_MS = 10_000
/** Fewer are told one by one. */
const MINIMUM = 3
/** Share of the cells that may still be missing when the fleet counts as recovered. */
const RECOVERED_SHARE = 0.1

/**
 * Over half of the cells lost within 10 s: a switch, a power line or our own network rather than
 * so many machines. They stay in the registry, and one alert stands for all.
 */
export const createMassLoss = (
  nowMs: () => number,
  changed: MassLossListener = () => {},
): MassLoss => {
  const present = new Set<string>()
  /** Lost within the window, by when; once the fleet is degraded, everything that is missing. */
  const lost = new Map<string, number>()
  let degraded = false

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
    changed(degraded, lost.size, present.size)
    if (!degraded) lost.clear()
  }

  const note: MassLoss['note'] = (cellId, presence) => {
    const wasPresent = present.has(cellId)
    if (presence === 'gone') {
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
    degraded: () => degraded,
    missing: cellId => degraded && lost.has(cellId),
  }
}
