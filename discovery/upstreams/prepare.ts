import { createHash, createHmac } from 'node:crypto'
import { VERSION } from '../../shared/version.ts'
import { UpstreamError, type UpstreamRequest } from './client.ts'

/** A request as it is sent, and as it is remembered. */
export interface PreparedRequest {
  request: UpstreamRequest
  /**
   * Hash of method, address, headers and body, keyed with the API key where one is sent: callers with
   * different keys of a source never share an answer, and the hash does not reveal the key.
   */
  cacheKey: string
  method: 'GET' | 'POST'
  url: URL
  /** The address without secrets. */
  publicUrl: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
  hasSecret: boolean
  /** True when shoal or the operator named the host, which is then not judged. */
  isConfigured: boolean
}

interface Circumstances {
  /** Address of the source as configured. */
  base: string | null
  secret: string | undefined
  contact: string | undefined
}

/** @throws UpstreamError for a source without an address, or a path that leaves it */
export const prepareRequest = (
  request: UpstreamRequest,
  { base, secret, contact }: Circumstances,
): PreparedRequest => {
  const { source, baseUrl } = request
  const isConfigured = baseUrl === undefined
  const address = baseUrl ?? base
  if (address === null)
    throw new UpstreamError(
      source.id,
      'not_reached',
      `no address is configured; set upstreams.sources.${source.id}.url`,
    )
  const publicUrl = parseUrl(request, `${address}${request.path}${printQuery(request)}`)
  const own = isConfigured ? secret : undefined
  const body = request.body === undefined ? undefined : JSON.stringify(request.body)
  const headers: Record<string, string> = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...lowerNames(request.headers ?? {}),
  }
  const method = body === undefined ? 'GET' : 'POST'
  return {
    request,
    cacheKey: hash(
      [method, publicUrl.href, JSON.stringify(Object.entries(headers).toSorted()), body],
      own,
    ),
    method,
    publicUrl: publicUrl.href,
    url: own === undefined ? publicUrl : addKeyToUrl(publicUrl, request, address, own),
    headers: { ...headers, 'user-agent': printAgent(contact), ...keyHeader(request, own) },
    body,
    hasSecret: own !== undefined,
    isConfigured,
  }
}

/** What a parser of URLs would take for a step up, a query or a fragment. */
const ESCAPE = /[?#\\\s]|(^|\/)(\.|%2e){1,2}(\/|$)/i

const parseUrl = ({ source, path }: UpstreamRequest, text: string): URL => {
  if (ESCAPE.test(path) || !/^($|\/)/.test(path) || !URL.canParse(text))
    throw new UpstreamError(source.id, 'refused', 'the request has a path that is not allowed')
  return new URL(text)
}

const printQuery = ({ query = {} }: UpstreamRequest): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map(each => printPair(name, String(each))),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** A parameter with an empty value is a bare name: `hasKev`. */
const printPair = (name: string, value: string): string =>
  value === ''
    ? encodeURIComponent(name)
    : `${encodeURIComponent(name)}=${encodeURIComponent(value)}`

const lowerNames = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const addKeyToUrl = (
  publicUrl: URL,
  { source, path }: UpstreamRequest,
  address: string,
  secret: string,
): URL => {
  const url = new URL(publicUrl)
  if (source.key?.in === 'query')
    url.search = `${url.search === '' ? '?' : `${url.search}&`}${printPair(source.key.name, secret)}`
  if (source.key?.in === 'path')
    url.pathname = new URL(`${address}/${encodeURIComponent(secret)}${path}`).pathname
  return url
}

const keyHeader = (
  { source: { key } }: UpstreamRequest,
  secret: string | undefined,
): Record<string, string> =>
  key?.in === 'header' && secret !== undefined
    ? { [key.name.toLowerCase()]: `${key.prefix ?? ''}${secret}` }
    : {}

const printAgent = (contact: string | undefined): string =>
  contact === undefined ? `shoal/${VERSION}` : `shoal/${VERSION} (+${contact})`

const hash = (parts: readonly (string | undefined)[], secret: string | undefined): string =>
  (secret === undefined ? createHash('sha256') : createHmac('sha256', secret))
    .update(JSON.stringify(parts))
    .digest('hex')
