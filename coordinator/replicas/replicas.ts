/** A coordinator that serves the fleet. */
export interface Replica {
  /** New at every start: `rep_…`. */
  id: string
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
}
