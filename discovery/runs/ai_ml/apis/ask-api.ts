import { readFile } from 'node:fs/promises'
import { isLoopbackAddress } from '../../../net/address-keys.ts'
import { httpProbe } from '../../../net/http-probe.ts'
import { resolveTarget } from '../../../resolve-target.ts'
import type { ScanContext } from '../../../scan-run.ts'
import type { ApiRow } from './api-row.ts'
import type { Provider } from './providers.ts'
import { readApiModels } from './read-api-models.ts'

/** An endpoint of the configuration, or a provider. */
export interface ApiPlace
  extends Pick<Provider, 'name' | 'baseUrl' | 'protocol' | 'auth' | 'region'> {
  keyFile?: string
  isPublic: boolean
}

const TIMEOUT_MS = 5000
const MAX_LIST_BYTES = 1024 * 1024
/** Version that the Anthropic API wants to be named (its API reference). */
const ANTHROPIC_VERSION = '2023-06-01'

/** An endpoint that was not contacted. */
const createUnknownRow = (place: ApiPlace): ApiRow => {
  const url = new URL(place.baseUrl)
  return {
    name: place.name,
    base_url: place.baseUrl,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    address: null,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    scope: place.isPublic ? 'public' : 'lan',
    protocol: place.protocol,
    auth: place.isPublic ? 'required' : place.auth,
    reachable: null,
    latency_ms: null,
    models: [],
    region: place.region,
  }
}

/** Asks an endpoint for its models, with the key of the configuration; its host must be in scope. */
export const askApi = async (place: ApiPlace, context: ScanContext): Promise<ApiRow> => {
  const row = createUnknownRow(place)
  let contacted: Pick<ApiRow, 'address' | 'scope'> | undefined
  try {
    const { addresses, scope } = await resolveTarget(context.scope, row.host)
    const [address = row.host] = addresses
    const found = place.isPublic ? row.scope : isLoopbackAddress(address) ? 'self' : 'lan'
    contacted = { address, scope: found }
    const answer = await fetchList(place, { ...row, address, scope, signal: context.signal })
    return { ...row, ...answer, ...contacted }
  } catch (error) {
    context.warn('partial_result', `${place.name}: ${(error as Error).message}`.slice(0, 500))
    return contacted === undefined ? row : { ...row, ...contacted, reachable: false }
  }
}

type Contact = Pick<ScanContext, 'scope' | 'signal'> & {
  host: string
  address: string
  port: number
}

const fetchList = async (
  place: ApiPlace,
  { host, address, port, scope, signal }: Contact,
): Promise<Pick<ApiRow, 'auth' | 'reachable' | 'latency_ms' | 'models'>> => {
  const url = new URL(`${place.baseUrl}/models`)
  const isTls = url.protocol === 'https:'
  const headers = await readCredentials(place)
  const isVerified = place.keyFile !== undefined
  const target = { host, address, port, isTls, isVerified, scope, signal, timeoutMs: TIMEOUT_MS }
  const startedAt = performance.now()
  const { status, body } = await httpProbe(target, {
    path: `${url.pathname}${url.search}`,
    headers,
    maxBytes: MAX_LIST_BYTES,
  })
  const models = status === 200 ? readApiModels(parseList(body)) : undefined
  const isOpen = models !== undefined && place.keyFile === undefined
  return {
    auth: isOpen ? 'none' : status === 401 || status === 403 ? 'required' : place.auth,
    reachable: true,
    latency_ms: Math.round(performance.now() - startedAt),
    models: models ?? [],
  }
}

const parseList = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const readCredentials = async ({
  keyFile,
  auth,
  protocol,
}: ApiPlace): Promise<Record<string, string>> => {
  const version: Record<string, string> =
    protocol === 'anthropic' ? { 'anthropic-version': ANTHROPIC_VERSION } : {}
  if (keyFile === undefined) return version
  const key = (await readFile(keyFile, 'utf8')).trim()
  return auth === 'api_key'
    ? { ...version, 'x-api-key': key }
    : { ...version, authorization: `Bearer ${key}` }
}
