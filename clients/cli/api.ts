import { type ErrorBody, isErrorCode, ShoalError } from '../../shared/errors.ts'

/** One request. `query` and `body` in wire names. */
export interface Call {
  method: string
  path: string
  query?: Record<string, unknown>
  body?: object
}

/** An answer that is text and no JSON, with the path of its next page. */
export class TextAnswer {
  readonly text: string
  readonly next: string | undefined

  constructor(text: string, next: string | undefined) {
    this.text = text
    this.next = next
  }
}

export interface Api {
  get(path: string): Promise<unknown>
  /** The JSON of the answer, or a `TextAnswer`. */
  call(call: Call): Promise<unknown>
  /** A document that may be known already: undefined when it is still the one with this tag. */
  getIfChanged(
    path: string,
    etag: string | undefined,
  ): Promise<{ body: unknown; etag: string | undefined } | undefined>
  /** The server-sent events of a streamed answer, as their JSON, until [DONE]. */
  stream(path: string, body: object): AsyncGenerator<unknown>
}

export interface ApiOptions {
  url: string
  key: string | undefined
  tenant?: string | undefined
}

/** The coordinator's REST API for the command line. Errors become ShoalErrors with its code. */
export const createApi = ({ url, key, tenant }: ApiOptions): Api => {
  const identity = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(tenant === undefined ? {} : { 'x-svc-tenant': tenant }),
  }

  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const target = addressOf(url, path)
    const response = await fetch(target, { redirect: 'error', ...init }).catch((cause: unknown) => {
      throw new ShoalError('coordinator_unavailable', `no coordinator answers at ${url}`, { cause })
    })
    if (!response.ok && response.status !== 304) throw await errorOf(response)
    return response
  }

  const call: Api['call'] = async ({ method, path, query = {}, body }) => {
    const content = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await ask(withQuery(path, query), {
      method,
      headers: { ...content, ...identity },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return contentOf(response)
  }

  const getIfChanged: Api['getIfChanged'] = async (path, etag) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-none-match': etag }
    const response = await ask(path, { headers })
    if (response.status === 304) return undefined
    return { body: await jsonOf(response), etag: response.headers.get('etag') ?? undefined }
  }

  async function* stream(path: string, body: object): AsyncGenerator<unknown> {
    const headers = { 'content-type': 'application/json', ...identity }
    const response = await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
    for await (const data of eventData(response.body ?? new ReadableStream())) {
      if (data === '[DONE]') return
      const value = JSON.parse(data)
      if (value.error !== undefined) throw fromBody(value, response)
      yield value
    }
    throw new ShoalError('cell_unavailable', 'the answer ended too early')
  }

  return { get: path => call({ method: 'GET', path }), call, getIfChanged, stream }
}

/** Paths come from a document: none may lead the key to another host. */
const addressOf = (url: string, path: string): URL => {
  const base = parsed(url)
  const target = new URL(path, base)
  if (target.origin !== base.origin)
    throw new ShoalError('invalid_request', `${path} is not a path of the coordinator`)
  return target
}

const parsed = (url: string): URL => {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new ShoalError('invalid_request', `${url} is not an address: give http://… or https://…`)
  return new URL(url)
}

const withQuery = (path: string, query: Record<string, unknown>): string => {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    [value]
      .flat()
      .map((each): [string, string] => [
        name,
        typeof each === 'object' ? JSON.stringify(each) : String(each),
      ]),
  )
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`
}

/** Other pages of HTML, such as a proxy's, are no answer of a coordinator. */
const TEXT = /^(text\/(csv|plain)|application\/jsonl)/
const NEXT = /<([^>]+)>; rel="next"/

const contentOf = async (response: Response): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? ''
  const ours = response.headers.has('x-shoal-version') && type.startsWith('text/html')
  if (!ours && !TEXT.test(type)) return jsonOf(response)
  const next = NEXT.exec(response.headers.get('link') ?? '')?.[1]
  return new TextAnswer(await response.text(), next)
}

const jsonOf = (response: Response): Promise<unknown> =>
  response.json().catch((cause: unknown) => {
    throw new ShoalError('internal', `what answers at ${response.url} is no coordinator`, { cause })
  })

const errorOf = async (response: Response): Promise<ShoalError> => {
  const body = await response.json().catch(() => undefined)
  return fromBody(body, response)
}

const fromBody = (body: unknown, { status, headers }: Response): ShoalError => {
  const { code, message, param } = (body as ErrorBody | undefined)?.error ?? {}
  if (!isErrorCode(code))
    return new ShoalError('internal', `the coordinator answered with status ${status}`)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ShoalError(code, String(message ?? code), {
    ...(typeof param === 'string' ? { param } : {}),
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  })
}

/** The data of each event (HTML standard, section 9.2.6); comments and other fields are skipped. */
async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6).trimEnd()
  }
}
