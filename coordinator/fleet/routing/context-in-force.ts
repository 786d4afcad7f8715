import type { CatalogueEntry } from '../../../shared/catalogue.ts'
import type { CellEngine } from './engine.ts'

/** The part of an engine that decides how long a request may be. */
type Engine = Pick<CellEngine, 'ready' | 'contextLength'>

/**
 * Most tokens of one request that every cell has room for: of the cells that have the model loaded,
 * else of those that could load it, else what the catalogue promises.
 */
export const contextInForce = (
  { context_length }: Pick<CatalogueEntry, 'context_length'>,
  engines: readonly Engine[],
): number => {
  const loaded = engines.filter(({ ready }) => ready)
  const lengths = (loaded.length > 0 ? loaded : engines).flatMap(({ contextLength }) =>
    contextLength ? [contextLength] : [],
  )
  return Math.min(context_length, ...lengths)
}
