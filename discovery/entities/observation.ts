import type { Sighting } from '../sighting.ts'

/** A sighting with its circumstances. */
export interface Observation {
  sighting: Sighting
  /** Module that reported it. */
  module: string
  /** Cell that ran the module; undefined for modules that run on the coordinator. */
  cellId: string | undefined
  /**
   * Place whose addresses are unique: cells with the same site see the same networks. Empty for
   * public data, which says nothing about places.
   */
  site: string
  /** Unix milliseconds. */
  at: number
}
