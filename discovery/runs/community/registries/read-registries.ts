import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { RegistryHit } from '../../../modules/community/registry-search.ts'

/** How well a name matches: as a whole, at its beginning, somewhere, or only in other fields. */
const scoreMatch = (name: string, query: string): number => {
  const [left, right] = [name.toLowerCase(), query.toLowerCase()]
  if (left === right || left.split(/[/@:]/).at(-1) === right) return 1
  if (left.startsWith(right)) return 0.8
  return left.includes(right) ? 0.6 : 0.3
}

const Server = z.object({
  name: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  version: z.string().nullish(),
  websiteUrl: z.string().nullish(),
  repository: z.object({ url: z.string().nullish() }).nullish(),
})

const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const Meta = z.object({
  [OFFICIAL]: z.object({ status: z.string().nullish(), updatedAt: z.string().nullish() }).nullish(),
})

/** Servers of the MCP registry; early answers have the fields of `server` one level higher. */
export const readServers = (body: unknown, query: string): RegistryHit[] => {
  const { servers } = z.object({ servers: z.array(z.unknown()).nullish() }).parse(body)
  return (servers ?? []).flatMap(each => {
    const wrapped = z.object({ server: Server, _meta: Meta.nullish() }).safeParse(each)
    const server = wrapped.success ? wrapped.data.server : Server.safeParse(each).data
    const official = wrapped.data?._meta?.[OFFICIAL]
    if (server === undefined || official?.status === 'deleted') return []
    return {
      origin: 'mcp' as const,
      id: server.name.slice(0, 256),
      name: (server.title ?? server.name).slice(0, 256),
      description: server.description?.slice(0, 1024) ?? null,
      version: server.version?.slice(0, 64) ?? null,
      kind: official?.status === 'deprecated' ? 'deprecated MCP server' : 'MCP server',
      url: (server.websiteUrl ?? server.repository?.url)?.slice(0, 2048) ?? null,
      updated_at: readUtcTime(official?.updatedAt),
      score: scoreMatch(server.name, query),
    }
  })
}

const Package = z.object({
  name: z.string(),
  version: z.string().nullish(),
  description: z.string().nullish(),
  date: z.string().nullish(),
  links: z.object({ npm: z.string().nullish(), repository: z.string().nullish() }).nullish(),
})

export const readPackages = (body: unknown, query: string): RegistryHit[] => {
  const { objects } = z.object({ objects: z.array(z.object({ package: z.unknown() })) }).parse(body)
  return objects
    .flatMap(each => Package.safeParse(each.package).data ?? [])
    .map(({ name, version, description, date, links }) => ({
      origin: 'npm' as const,
      id: name.slice(0, 256),
      name: name.slice(0, 256),
      description: description?.slice(0, 1024) ?? null,
      version: version?.slice(0, 64) ?? null,
      kind: 'npm package',
      url: (links?.npm ?? links?.repository)?.slice(0, 2048) ?? null,
      updated_at: readUtcTime(date),
      score: scoreMatch(name, query),
    }))
}

const Image = z.object({
  repo_name: z.string(),
  short_description: z.string().nullish(),
  is_official: z.boolean().nullish(),
})

export const readImages = (body: unknown, query: string): RegistryHit[] => {
  const { results } = z.object({ results: z.array(z.unknown()).nullish() }).parse(body)
  return (results ?? [])
    .flatMap(each => Image.safeParse(each).data ?? [])
    .map(({ repo_name: name, short_description, is_official }) => ({
      origin: 'docker' as const,
      id: name.slice(0, 256),
      name: name.slice(0, 256),
      description: short_description?.slice(0, 1024) || null,
      version: null,
      kind: is_official === true ? 'official image' : 'image',
      url: `https://hub.docker.com/${is_official === true ? '_' : 'r'}/${name}`.slice(0, 2048),
      updated_at: null,
      score: scoreMatch(name, query),
    }))
}
