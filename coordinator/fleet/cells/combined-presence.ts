import type { Presence } from './presence.ts'

/** Order from the best to the worst. */
const ORDER: readonly Presence[] = ['ready', 'degraded', 'draining', 'suspect', 'stopped', 'dead']

/**
 * Presence of a cell over all coordinators: the best that one of them sees, because a coordinator
 * that has lost its own connection to a cell knows nothing of the others'. Undefined while none of
 * them has seen the cell.
 */
export const combinePresence = (views: Iterable<Presence>): Presence | undefined => {
  const seen = new Set(views)
  return ORDER.find(presence => seen.has(presence))
}
