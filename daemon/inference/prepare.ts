import type { CatalogueEntry } from '../../shared/catalogue.ts'
import type { GgufFacts } from './gguf.ts'
import type { Progress } from './progress.ts'
import { checkWeights, type Weights } from './weights.ts'

/** Fetches weights that are not there; resolves at once when they are. */
export type FetchWeights = (
  weights: Weights,
  onProgress: (bytes: number, totalBytes: number | undefined) => void,
  signal: AbortSignal,
) => Promise<void>

export interface PrepareParts {
  fetch: FetchWeights
  progress: Progress
}

/**
 * Everything that weights go through before an engine sees them.
 *
 * @throws DownloadError, GgufError
 */
export const prepare = async (
  { weights, kind }: { weights: Weights; kind: CatalogueEntry['kind'] },
  { fetch, progress }: PrepareParts,
  signal: AbortSignal,
): Promise<GgufFacts> => {
  const during = (phase: 'downloading' | 'checking') => (done: number, total?: number) => {
    progress.begin(phase)
    if (total !== undefined) progress.at((100 * done) / total)
  }
  await fetch(weights, during('downloading'), signal)
  return checkWeights(weights, kind, signal, during('checking'))
}
