import ipaddr from 'ipaddr.js'
import { ShoalError } from '../../shared/errors.ts'
import { type ExchangeAnswer, exchange } from '../../shared/outbound/exchange.ts'
import { type JudgeRules, judgeUrl, type Target } from '../../shared/outbound/judge.ts'
import { checkAddresses, type Resolve } from '../../shared/outbound/resolve.ts'
import { SendError } from '../../shared/outbound/send-error.ts'
import type { Transport, TransportReply, TransportRequest } from './transport.ts'

interface HttpTransportParts {
  /** What may be asked of the hosts that nobody configured. */
  rules: JudgeRules
  resolve: Resolve
  /** Authorities beside the system's, PEM. */
  ca?: string
}

const MAX_REDIRECTS = 3
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** HTTP over TCP, TLS and Unix sockets: bounded, decoded, redirects followed with care. */
export const createHttpTransport = (parts: HttpTransportParts): Transport => {
  const send = async (
    request: TransportRequest,
    endsAt: number,
    signal: AbortSignal,
  ): Promise<ExchangeAnswer> => {
    const { url, isConfigured, maxBytes, connectSeconds } = request
    const totalSeconds = Math.max(0.001, (endsAt - performance.now()) / 1000)
    const target = isConfigured ? trustTarget(url) : judgeTarget(url, parts.rules)
    return exchange(
      {
        ...request,
        ...placeOf(url),
        findAddresses: () => checkAddresses(target, parts.rules, parts.resolve),
        connectSeconds,
        answerSeconds: totalSeconds,
        totalSeconds,
        maxAnswerBytes: maxBytes,
        acceptsGzip: true,
        ...(parts.ca === undefined ? {} : { ca: parts.ca }),
      },
      signal,
    )
  }

  return async (request, signal) => {
    const endsAt = performance.now() + request.totalSeconds * 1000
    let current = request
    for (let redirects = 0; ; redirects++) {
      const answer = await send(current, endsAt, signal)
      const location = REDIRECTS.includes(answer.status) ? answer.headers.location : undefined
      if (location === undefined) return replyOf(answer)
      if (redirects === MAX_REDIRECTS)
        throw new SendError('refused', `it was redirected more than ${MAX_REDIRECTS} times`)
      current = followRedirect(current, location)
    }
  }
}

/** The host of the configuration, at any address but those of cloud metadata. */
const trustTarget = (url: URL): Target => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  return { url, host, port, literal: ipaddr.isValid(host), trusted: true }
}

const judgeTarget = (url: URL, rules: JudgeRules): Target => {
  try {
    return judgeUrl(url.href, rules)
  } catch (cause) {
    if (!(cause instanceof ShoalError)) throw cause
    throw new SendError('refused', cause.message, { cause })
  }
}

/** `unix:///run/docker.sock:/containers/json` names a socket, a colon and a path, as in nginx. */
const placeOf = (url: URL): { url: URL; socketPath?: string } => {
  if (url.protocol !== 'unix:') return { url }
  const [socketPath = '', path = ''] = decodeURIComponent(url.pathname).split(':')
  return { url: new URL(`http://localhost${path}${url.search}`), socketPath }
}

const followRedirect = (request: TransportRequest, location: string): TransportRequest => {
  const { url, method, hasSecret, isConfigured, staysOnHost } = request
  const next = URL.parse(location, url.href)
  if (next === null || !/^https?:$/.test(next.protocol) || method !== 'GET')
    throw new SendError('refused', 'it was redirected to an address that is not followed')
  if (url.protocol === 'https:' && next.protocol === 'http:')
    throw new SendError('refused', 'it was redirected from https to http')
  const isSameHost = next.host === url.host
  if (!isSameHost && staysOnHost)
    throw new SendError('refused', 'it was redirected to another host, which is not followed')
  if (!isSameHost && hasSecret)
    throw new SendError('refused', 'it was redirected to another host, which must not get the key')
  next.hash = ''
  return { ...request, url: next, isConfigured: isConfigured && isSameHost }
}

const replyOf = ({ status, headers, body }: ExchangeAnswer): TransportReply => ({
  status,
  headers: Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name === 'set-cookie' ? [] : [[name, value]],
    ),
  ),
  body,
})
