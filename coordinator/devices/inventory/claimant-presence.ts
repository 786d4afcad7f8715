import type { Presence } from '../../fleet/cells/presence.ts'

/**
 * Presence of the cells that claim a device. A quarantine takes the published presence of a cell away
 * with its connection, and such a cell is away, not only unseen.
 */
export const createClaimantPresence =
  (published: (cellId: string) => Presence | undefined, quarantined: ReadonlySet<string>) =>
  (cellId: string): Presence =>
    quarantined.has(cellId) ? 'dead' : (published(cellId) ?? 'unknown')
