import { jsonOf, type TimedBody } from './body.ts'
import { ShoalError } from './errors.ts'
import { Patience } from './patience.ts'
import { parseRetryAfter } from './retry.ts'

export interface TransportOptions {
  baseUrl: string
  apiKey: string
  tenant?: string
  timeoutMs?: number
  fetch?: typeof fetch
}

export interface Call {
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
  signal?: AbortSignal
}

/** Characters a header can carry unchanged. */
const WORD = /^[\x21-\x7e]+$/

/** Requests to one coordinator. */
export class Transport {
  readonly #options: TransportOptions

  /** Throws a TypeError for invalid options; its message never contains the key. */
  constructor(options: TransportOptions) {
    const { baseUrl, apiKey, tenant } = options
    if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl))
      throw new TypeError('baseUrl must begin with http:// or https://')
    if (new URL(baseUrl).username !== '') throw new TypeError('baseUrl must have no user name')
    if (!WORD.test(apiKey)) throw new TypeError('apiKey must have no blanks and no line ends')
    if (tenant !== undefined && !WORD.test(tenant)) throw new TypeError('tenant must be an id')
    this.#options = options
  }

  /** Returns the response of a successful request; anything else throws `ShoalError`. */
  async ask(
    method: string,
    path: string,
    call: Call,
    more: Record<string, string> = {},
  ): Promise<TimedBody> {
    const { baseUrl, timeoutMs = 60_000, fetch: ask = fetch } = this.#options
    const url = addressOf(baseUrl, path, call)
    const patience = new Patience(timeoutMs, call.signal)
    patience.begin()
    const response = await ask(url, {
      method,
      headers: this.#headers(call, more),
      // followed, it would take the key along
      redirect: 'manual',
      signal: patience.signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
      .catch((cause: unknown) => {
        if (patience.isLeft) throw cause
        throw new ShoalError('coordinator_unavailable', `no coordinator answers at ${baseUrl}`, {
          cause,
        })
      })
      .finally(() => patience.end())
    if (!response.ok) throw await errorOf({ response, patience })
    return { response, patience }
  }

  #headers({ body }: Call, more: Record<string, string>): Record<string, string> {
    const { apiKey, tenant } = this.#options
    return {
      authorization: `Bearer ${apiKey}`,
      ...(tenant === undefined ? {} : { 'x-svc-tenant': tenant }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    }
  }
}

/** URL of a call. A base URL without its final slash would make the path part of the host name. */
const addressOf = (baseUrl: string, path: string, { query = {} }: Call): URL => {
  if (!path.startsWith('/')) throw new TypeError(`${path} must begin with /`)
  const url = new URL(baseUrl.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}

/** Browsers hide the status of a redirect. */
const REDIRECT = 302

const errorOf = async (answer: TimedBody): Promise<ShoalError> => {
  const { status, headers } = answer.response
  const body = await jsonOf<{
    error?: {
      code?: string
      message?: string
      param?: string | null
      reason?: string
      next?: string
    }
  } | null>(answer).catch(() => undefined)
  const shown = status === 0 ? REDIRECT : status
  const {
    code = 'internal',
    message = `the coordinator answered ${shown}`,
    param,
    reason,
    next,
  } = body?.error ?? {}
  return new ShoalError(code, message, {
    status: shown,
    param: param ?? undefined,
    reason,
    next,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after'), Date.now()),
    requestId: headers.get('x-request-id') ?? undefined,
  })
}
