import type { Replicas } from './replicas.ts'

/** Part of a limit of the whole fleet that this coordinator keeps for itself; at least 1. */
export const shareOf = (limit: number, replicas: Pick<Replicas, 'live'>): number =>
  Math.max(1, Math.floor(limit / Math.max(1, replicas.live().length)))
