import { ShoalError } from '../../../shared/errors.ts'
import { parseWeightsSource, type WeightsSource } from '../../../shared/weights-source.ts'
import { findRepository, type Hub, requireEgress } from './hub.ts'

/** Weights as a person names them. */
interface NamedWeights {
  weights: string
  sha256?: string | undefined
  unchecked?: boolean | undefined
}

/**
 * Completes downloaded weights with the digest, and for a file of the hub with the commit, so that
 * all cells get the same file now and later. Other weights stay as they are.
 *
 * @throws ShoalError invalid_request, upstream_unavailable
 */
export const completeSource = async (
  named: NamedWeights,
  hub: Hub,
  signal: AbortSignal,
): Promise<NamedWeights> => {
  const source = parse(named.weights)
  if (source.kind === 'file' || source.kind === 'bundled') return named
  requireEgress(hub)
  if (named.sha256 !== undefined || named.unchecked === true) return named
  if (source.kind === 'hub') return completeFromHub(source, hub, signal)
  throw new ShoalError(
    'invalid_request',
    'a download from this address needs --sha256, or --unchecked if you trust the address',
    { param: 'sha256' },
  )
}

const parse = (weights: string): WeightsSource => {
  try {
    return parseWeightsSource(weights)
  } catch (error) {
    throw new ShoalError('invalid_request', (error as Error).message, { param: 'source' })
  }
}

const completeFromHub = async (
  source: Extract<WeightsSource, { kind: 'hub' }>,
  hub: Hub,
  signal: AbortSignal,
): Promise<NamedWeights> => {
  const { path } = source
  const { id, commit, files } = await findRepository(hub, source, signal)
  const file = files.find(each => each.path === path)
  if (file === undefined) throw createMissingError(source, files)
  if (file.sha256 === null)
    throw new ShoalError(
      'invalid_request',
      `the hub has no sha256 for ${path}; give --sha256, or --unchecked if you trust it`,
      { param: 'sha256' },
    )
  // the present name: the old one may get another repository
  return { weights: `hf:${id}/${path}@${commit}`, sha256: file.sha256 }
}

/** Files that a message names. */
const MAX_NAMED = 8

const createMissingError = (
  { owner, repository, path }: Extract<WeightsSource, { kind: 'hub' }>,
  files: readonly { path: string }[],
): ShoalError => {
  const named = files.slice(0, MAX_NAMED).map(each => each.path)
  const others = named.length === 0 ? 'it has no GGUF files' : `it has ${named.join(', ')}`
  return new ShoalError('invalid_request', `${owner}/${repository} has no ${path}; ${others}`, {
    param: 'source',
  })
}
