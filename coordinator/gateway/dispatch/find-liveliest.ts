import { type CellEngine, isHalfOpen } from '../../fleet/routing/engine.ts'

/** Engines that are compared: most of a small fleet, and a sample of a large one. */
const MOST_COMPARED = 8

/**
 * Returns the engine that gives the least reason to doubt that it answers, for a request that has
 * already waited for a silent one: cells often fall silent together, and one that has requests and
 * answers none of them would cost its client the same time again. An engine that is not ready is
 * compared with no other, because loading the model takes longer.
 *
 * @param first engine that the router has chosen
 * @param pick returns the router's next choice, given the cells to leave out
 */
export const findLiveliest = (
  first: CellEngine,
  tried: ReadonlySet<string>,
  pick: (passed: ReadonlySet<string>) => CellEngine | undefined,
): CellEngine => {
  const passed = new Set(tried)
  let liveliest = first
  let engine: CellEngine | undefined = first
  for (let compared = 0; engine?.ready && compared < MOST_COMPARED; compared++) {
    if (lastProofMs(engine) > lastProofMs(liveliest)) liveliest = engine
    passed.add(engine.cellId)
    engine = pick(passed)
  }
  return liveliest
}

/** Time up to which the engine is known to answer; an idle one has left nothing unanswered. */
const lastProofMs = (engine: CellEngine): number => {
  if (isHalfOpen(engine)) return Number.NEGATIVE_INFINITY
  if (engine.inFlight === 0) return Number.POSITIVE_INFINITY
  return engine.health?.provenAtMs ?? Number.NEGATIVE_INFINITY
}
