import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { RegistryHit, RegistrySearch } from '../../modules/community/registry-search.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import dockerhub from '../../upstreams/sources/dockerhub.ts'
import mcpRegistry from '../../upstreams/sources/mcp-registry.ts'
import npm from '../../upstreams/sources/npm.ts'
import { readImages, readPackages, readServers } from './registries/read-registries.ts'

interface Input {
  query?: string
}

type Origin = RegistryHit['origin']

const MAX_ITEMS = 100
const PAGE = 30

const searchRegistries: LookupRun<Input, RegistrySearch> = async ({ query }, context) => {
  if (query === undefined)
    throw new ShoalError('invalid_request', 'query is required', { param: 'query' })
  const origins = (context.settings.option(mcpRegistry.id, 'origins') ?? [
    'local',
    'mcp',
  ]) as Origin[]
  const failures: UpstreamError[] = []
  const found = await Promise.all(
    origins.map(origin =>
      search(origin, query, context).catch(error => note(error, failures, context)),
    ),
  )
  const items = found.flat().sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
  const [first] = failures
  if (items.length === 0 && first !== undefined && failures.length === origins.length) throw first
  return { query, total: items.length, items: items.slice(0, MAX_ITEMS) }
}
export default searchRegistries

/** One registry that does not answer leaves the others. */
const note = (error: unknown, failures: UpstreamError[], context: LookupContext): RegistryHit[] => {
  context.signal.throwIfAborted()
  if (error instanceof z.ZodError) context.warn('unparsed_record', 'a registry could not be read')
  else if (error instanceof UpstreamError) {
    failures.push(error)
    context.warn('partial_result', error.message, error.source)
  } else throw error
  return []
}

const search = async (
  origin: Origin,
  query: string,
  context: LookupContext,
): Promise<RegistryHit[]> => {
  if (origin === 'local') return [...(await context.searchEntities(query, PAGE))]
  if (origin === 'mcp') return searchServers(query, context)
  if (origin === 'npm') {
    const path = '/-/v1/search'
    const { body } = await context.ask({
      source: npm,
      path,
      query: { text: query, size: PAGE },
      form: 'json',
    })
    return readPackages(body, query)
  }
  const path = '/v2/search/repositories/'
  const request = { source: dockerhub, path, query: { query, page_size: PAGE } }
  const { body } = await context.ask({ ...request, form: 'json' })
  return readImages(body, query)
}

/** The registry searches names only; older ones have another path. */
const searchServers = async (text: string, { ask }: LookupContext): Promise<RegistryHit[]> => {
  const query = { search: text, version: 'latest', limit: PAGE }
  const request = { source: mcpRegistry, query, accepts: [404], form: 'json' as const }
  const newest = await ask({ ...request, path: '/v0.1/servers' })
  const { body } = newest.status === 404 ? await ask({ ...request, path: '/v0/servers' }) : newest
  return readServers(body, text)
}
