import type { Replica, Replicas } from './replicas.ts'

/** The only coordinator on its store: it owns every subject. */
export const createSoleReplica = (self: Replica): Replicas => ({
  id: self.id,
  live: () => [self],
  owns: () => true,
  onChange: () => () => {},
  watchCells: () => {},
  lacksCells: () => false,
})
