import * as z from 'zod'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { MatrixServer, MatrixServers } from '../../modules/community/matrix-discover.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import matrix from '../../upstreams/sources/matrix.ts'

const FEDERATION_PORT = 8448

const lookAtServers: LookupRun<object, MatrixServers> = async (_input, context) => {
  const names = (context.settings.option(matrix.id, 'servers') ?? []) as string[]
  return { servers: await Promise.all(names.map(name => lookAtServer(name, context))) }
}
export default lookAtServers

const lookAtServer = async (name: string, context: LookupContext): Promise<MatrixServer> => {
  const errors: string[] = []
  const get = createGet(errors, context)
  const base = await findClientUrl(name, get)
  const federation = await findFederation(name, get, context)
  const [versions, login, software] = await Promise.all([
    get(Versions, base, '/_matrix/client/versions'),
    get(Login, base, '/_matrix/client/v3/login'),
    get(Software, `https://${federation.host}`, '/_matrix/federation/v1/version'),
  ])
  const flows = (login?.flows ?? []).map(({ type }) => type.slice(0, 64)).slice(0, 32)
  return {
    server_name: name,
    client_base_url: base,
    federation_host: federation.host,
    delegated_by: federation.by,
    software: software?.server?.name?.slice(0, 64) ?? null,
    version: software?.server?.version?.slice(0, 64) ?? null,
    spec_versions: (versions?.versions ?? []).slice(0, 64).map(each => each.slice(0, 32)),
    login_flows: flows,
    sso: flows.some(flow => flow === 'm.login.sso' || flow === 'm.login.cas'),
    client_ok: versions !== undefined,
    federation_ok: software !== undefined,
    errors: errors.slice(0, 8),
  }
}

const Delegation = z.object({ 'm.server': z.string().nullish() })
const ClientDelegation = z.object({ 'm.homeserver': z.object({ base_url: z.string() }).nullish() })
const Versions = z.object({ versions: z.array(z.string()) })
const Login = z.object({ flows: z.array(z.object({ type: z.string() })) })
const Software = z.object({
  server: z.object({ name: z.string().nullish(), version: z.string().nullish() }).nullish(),
})

type Get = <T extends z.ZodType>(
  schema: T,
  baseUrl: string,
  path: string,
) => Promise<z.output<T> | undefined>

/** Reads one document; a failure is listed, and a 404 is no document. */
const createGet =
  (errors: string[], { ask, signal }: LookupContext): Get =>
  async (schema, baseUrl, path) => {
    try {
      // well-known documents have any content type (Matrix specification, "Server discovery")
      const request = { source: matrix, baseUrl, path, accepts: [404], form: 'json' as const }
      const { status, body } = await ask(request)
      return status === 404 ? undefined : schema.parse(body)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof UpstreamError) && !(error instanceof z.ZodError)) throw error
      const why = error instanceof UpstreamError ? error.message : 'it could not be read'
      errors.push(`${path}: ${why}`.slice(0, 300))
      return undefined
    }
  }

/** Base of the client API (Matrix specification, client-server API, "Well-known URI"). */
const findClientUrl = async (name: string, get: Get): Promise<string> => {
  const found = await get(ClientDelegation, `https://${name}`, '/.well-known/matrix/client')
  const url = found?.['m.homeserver']?.base_url.replace(/\/+$/, '')
  return url !== undefined && /^https:\/\/[^/?#]+(\/[^?#]*)?$/.test(url) ? url : `https://${name}`
}

interface Federation {
  host: string
  by: MatrixServer['delegated_by']
}

/** Host of the federation API (Matrix specification, server-server API, "Resolving server names"). */
const findFederation = async (
  name: string,
  get: Get,
  { resolver, signal }: LookupContext,
): Promise<Federation> => {
  if (name.includes(':')) return { host: name, by: null }
  const found = await get(Delegation, `https://${name}`, '/.well-known/matrix/server')
  const delegated = found?.['m.server']
  if (
    delegated !== undefined &&
    delegated !== null &&
    /^[a-z0-9.-]{1,230}(:\d{1,5})?$/i.test(delegated)
  )
    return { host: withPort(delegated), by: 'well_known' }
  const answer = await resolver
    .resolve(`_matrix-fed._tcp.${name}`, 'SRV', signal)
    .catch(() => undefined)
  const [service] = (answer?.answers ?? []).flatMap(each =>
    each.type === 'SRV' ? [each.data] : [],
  )
  if (service !== undefined)
    return { host: `${service.target.replace(/\.$/, '')}:${service.port}`, by: 'srv' }
  return { host: withPort(name), by: 'default' }
}

const withPort = (host: string): string =>
  host.includes(':') ? host : `${host}:${FEDERATION_PORT}`
