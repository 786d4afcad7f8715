/** A coordinator that serves the fleet. */
export interface Replica {
  /** New at every start: `rep_…`. */
  id: string
  /** Name for people; unlike the id it is the same after a start. Undefined for older coordinators. */
  name: string | undefined
  /** URL at which cells reach this coordinator and no other; undefined behind a balancer. */
  address: string | undefined
  version: string
  /** Unix milliseconds by the clock of the store. */
  startedAt: number
}

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
