import {
  type HubRepository,
  readHubRepository,
} from '../../../discovery/runs/ai_ml/hub/read-repository.ts'
import { HUB_FIELDS, readHubModels } from '../../../discovery/runs/ai_ml/hub-models.ts'
import { UpstreamError } from '../../../discovery/upstreams/client.ts'
import hf from '../../../discovery/upstreams/sources/hf.ts'
import type { Upstreams } from '../../../discovery/upstreams/upstreams.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { WeightsSource } from '../../../shared/weights-source.ts'

export type Hub = Pick<Upstreams, 'ask' | 'isOffline'>
type HubSource = Pick<Extract<WeightsSource, { kind: 'hub' }>, 'owner' | 'repository' | 'revision'>

/** Wait that is recommended when the hub has named none, in seconds. */
const RETRY_SECONDS = 60

/** Throws `upstream_unavailable` while no outside source may be asked. */
export const requireEgress = ({ isOffline }: Pick<Hub, 'isOffline'>): void => {
  if (!isOffline) return
  throw new ShoalError(
    'upstream_unavailable',
    'upstreams.egress is off, so no weights are downloaded; use --path with a file on the cell',
  )
}

/** A repository of the hub. @throws ShoalError invalid_request, upstream_unavailable */
export const findRepository = async (
  hub: Hub,
  source: HubSource,
  signal: AbortSignal,
): Promise<HubRepository> => {
  const ask: Parameters<typeof readHubRepository>[0] = request => hub.ask(request, signal)
  try {
    return await readHubRepository(ask, source)
  } catch (error) {
    throw toShoalError(error, source)
  }
}

/** Models of the hub with GGUF files, those with the most downloads first. */
export const searchHub = async (
  hub: Hub,
  { query, limit }: { query: string; limit: number },
  signal: AbortSignal,
) => {
  try {
    const { body } = await hub.ask(
      {
        source: hf,
        path: '/api/models',
        query: { search: query, filter: 'gguf', sort: 'downloads', limit, expand: HUB_FIELDS },
        form: 'json',
      },
      signal,
    )
    return readHubModels(body).models.slice(0, limit)
  } catch (error) {
    throw toShoalError(error)
  }
}

/** The hub answers 401 for a repository that does not exist, unless the request has a token. */
const HIDDEN: readonly UpstreamError['failure'][] = ['not_found', 'auth_missing', 'refused']

const toShoalError = (error: unknown, source?: HubSource): unknown => {
  if (!(error instanceof UpstreamError)) return error
  if (error.failure === 'offline')
    return new ShoalError(
      'upstream_unavailable',
      'upstreams.egress is off: the hub is not queried',
      {
        reason: 'egress_off',
        next: 'shoal upstreams verify',
        cause: error,
      },
    )
  if (source !== undefined && error.status > 0 && HIDDEN.includes(error.failure)) {
    const { owner, repository, revision } = source
    const keys = 'upstreams.sources.hf.key_file, and inference.hub_token_file on the cells'
    return new ShoalError(
      'invalid_request',
      `the hub has no ${owner}/${repository} at ${revision}, or wants a token for it: ${keys}`,
      { param: 'source', cause: error },
    )
  }
  return new ShoalError('upstream_unavailable', error.message, {
    retryAfterSeconds: Math.ceil(error.retryAfterSeconds ?? RETRY_SECONDS),
    cause: error,
  })
}
