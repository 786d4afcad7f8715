import type { Replica } from './replica.table.ts'

export type { Replica } from './replica.table.ts'

/** The coordinators that serve one fleet together on a shared store. */
export interface Replicas {
  /** Id of this process. */
  readonly id: string
  /** Returns the coordinators that live, this one included, in order of id. */
  live(): readonly Replica[]
  /**
   * True when this coordinator acts for the subject. The live coordinators agree on it, except for
   * the moment in which one joins or leaves: an action that must happen once is also conditional in
   * the store. False while this one cannot tell whether the others still count on it.
   */
  owns(subject: string): boolean
  /** Calls back after the set of live coordinators has changed. Returns how to stop that. */
  onChange(listener: () => void): () => void
  /** Sets how this coordinator looks for connected cells; the others learn it at each renewal. */
  watchCells(hasCells: () => boolean): void
  /**
   * True while this coordinator has no cell and another live one has. Only for a coordinator with an
   * address: without one, cells reach it through a balancer, which must go on choosing it.
   */
  lacksCells(): boolean
}
