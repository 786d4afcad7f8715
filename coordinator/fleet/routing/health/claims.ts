import type { EngineHealth } from './engine-health.ts'

/** Facts that a cell reports about an engine. */
export interface Claims {
  slots: number
  /** Requests that may wait on the cell; undefined when it does not say. */
  queue: number | undefined
}

/** Slots that any engine is believed to have. */
const BELIEVED_SLOTS = 64
/** Times the requests that an engine has shown to serve together. */
const GROWTH = 2
/** Requests per slot that may wait on a cell; further ones wait in the coordinator's line. */
const QUEUE_PER_SLOT = 16

/**
 * Returns the slots that an engine is believed to have: what it reports, but at most twice as many
 * as it has proven. A cell that reports a million attracts no more requests than any large one.
 */
export const estimateSlots = (reported: number, health: EngineHealth | undefined): number =>
  Math.min(reported, Math.max(BELIEVED_SLOTS, GROWTH * (health?.provenRequests ?? 0)))

export const estimateQueue = (reported: number | undefined, slots: number): number | undefined =>
  reported === undefined ? undefined : Math.min(reported, QUEUE_PER_SLOT * Math.max(1, slots))
