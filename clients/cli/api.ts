import { detailsIn, type ErrorBody, isErrorCode, ShoalError } from '../../shared/errors.ts'
import { type HttpReply, type HttpRequest, sendRequest } from './send-request.ts'
import { createCoordinatorUnreachableError, NotCoordinator } from './unreachable.ts'

/** One request. `query` and `body` in wire names. */
export interface ApiCall {
  method: string
  path: string
  query?: Record<string, unknown>
  body?: object
  /** File that is the body, in place of an object. */
  upload?: string
  /** Idempotency key: the call is carried out once, however often it is sent with it. */
  callKey?: string
}

/** An answer that is text and no JSON, with the path of its next page. */
export class TextAnswer {
  readonly text: string
  /** Media type, such as `text/csv; charset=utf-8`. */
  readonly type: string
  readonly next: string | undefined

  constructor(text: string, type: string, next: string | undefined) {
    this.text = text
    this.type = type
    this.next = next
  }
}

export interface Api {
  get(path: string): Promise<unknown>
  /** The JSON of the answer, or a `TextAnswer`. */
  call(call: ApiCall): Promise<unknown>
  /** The text of an answer as it arrives. */
  text(call: ApiCall): AsyncGenerator<string>
  /** A document that may be known already: undefined when it is still the one with this tag. */
  getIfChanged(
    path: string,
    etag: string | undefined,
  ): Promise<{ body: unknown; etag: string | undefined } | undefined>
  /** The server-sent events of a streamed answer, as their JSON, until [DONE]. */
  stream(path: string, body: object, signal?: AbortSignal): AsyncGenerator<unknown>
  /**
   * Server-sent events until the coordinator ends the stream; `lastId` resumes after that event.
   */
  events(call: ApiCall, lastId: string | undefined): AsyncGenerator<ServerEvent>
}

interface ServerEvent {
  /** Id of this event, or of the last one that had an id. */
  id: string | undefined
  /** Parsed data; undefined for an event that only carries an id. */
  value: unknown
}

interface ApiOptions {
  url: string
  key: string | undefined
  tenant?: string | undefined
  /** Ends every request that is under way. */
  signal?: AbortSignal
  /** Limit of the connection, as in `HttpRequest`. */
  connectMs?: number
}

/** The coordinator's REST API for the command line. Errors become ShoalErrors with its code. */
export const createApi = ({ url, key, tenant, signal, connectMs }: ApiOptions): Api => {
  const identity = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(tenant === undefined ? {} : { 'x-svc-tenant': tenant }),
  }

  const ask = async (path: string, request: HttpRequest): Promise<HttpReply> => {
    const target = addressOf(url, path)
    const limits = {
      ...(signal === undefined ? {} : { signal }),
      ...(connectMs === undefined ? {} : { connectMs }),
    }
    const response = await sendRequest(target, { ...limits, ...request }).catch(
      (cause: unknown) => {
        throw createCoordinatorUnreachableError(url, cause)
      },
    )
    if (!response.ok && response.status !== 304) throw await errorOf(response, key)
    return response
  }

  const call: Api['call'] = async ({ method, path, query = {}, body, upload, callKey }) => {
    // the type of a file is sent as its content-type
    const content = body === undefined ? {} : { 'content-type': 'application/json' }
    const file = upload === undefined ? {} : { body: await openFile(upload) }
    const once = callKey === undefined ? {} : { 'idempotency-key': callKey }
    const response = await ask(withQuery(path, query), {
      method,
      headers: { ...content, ...once, ...identity },
      ...(body === undefined ? file : { body: JSON.stringify(body) }),
    })
    return contentOf(response)
  }

  async function* text({ path, query = {} }: ApiCall): AsyncGenerator<string> {
    const response = await ask(withQuery(path, query), { headers: identity })
    const decoder = new TextDecoder()
    for await (const bytes of rethrowUnreachable(response.body, url))
      yield decoder.decode(bytes, { stream: true })
    yield decoder.decode()
  }

  const getIfChanged: Api['getIfChanged'] = async (path, etag) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-none-match': etag }
    const response = await ask(path, { headers })
    if (response.status === 304) return undefined
    return { body: await jsonOf(response), etag: response.headers.get('etag') ?? undefined }
  }

  async function* stream(
    path: string,
    body: object,
    signal?: AbortSignal,
  ): AsyncGenerator<unknown> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...identity,
    }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await ask(path, signal === undefined ? request : { ...request, signal })
    const pieces = rethrowUnreachable(response.body, url)
    for await (const data of eventData(pieces)) {
      if (data === '[DONE]') return
      const value = JSON.parse(data)
      if (value.error !== undefined) throw fromBody(value, response, key)
      yield value
    }
    throw new ShoalError('cell_unavailable', 'the answer ended too early')
  }

  async function* events(
    { path, query = {} }: ApiCall,
    lastId?: string,
  ): AsyncGenerator<ServerEvent> {
    const since: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId }
    const response = await ask(withQuery(path, query), {
      headers: { accept: 'text/event-stream', ...since, ...identity },
    })
    const pieces = rethrowUnreachable(response.body, url)
    let id = lastId
    for await (const { field, value } of eventFields(pieces)) {
      if (field === 'id') id = value
      if (field === 'data') yield { id, value: JSON.parse(value) }
      if (field === 'id') yield { id, value: undefined }
    }
  }

  const get: Api['get'] = path => call({ method: 'GET', path })
  return { get, call, text, getIfChanged, stream, events }
}

/**
 * Resolves a path against the coordinator's URL. Paths come from a document and must not lead the
 * key to another host.
 */
const addressOf = (url: string, path: string): URL => {
  const base = parseAddress(url)
  const target = new URL(path, base)
  if (target.origin !== base.origin)
    throw new ShoalError('invalid_request', `${path} is not a path of the coordinator`)
  return target
}

const parseAddress = (url: string): URL => {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new ShoalError('config_invalid', `${url} is not an address: give http://… or https://…`)
  const { username, password, origin } = new URL(url)
  if (username !== '' || password !== '')
    throw new ShoalError(
      'config_invalid',
      `remove the name and password from the address ${origin}`,
    )
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

/** Media types accepted as text; HTML pages, such as a proxy's, are not from a coordinator. */
const TEXT = /^(text\/(csv|plain)|application\/(jsonl|yaml))/
const NEXT = /<([^>]+)>; rel="next"/

const contentOf = async (response: HttpReply): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? ''
  const ours = response.headers.has('x-shoal-version') && type.startsWith('text/html')
  if (!ours && !TEXT.test(type)) return jsonOf(response)
  const next = NEXT.exec(response.headers.get('link') ?? '')?.[1]
  const text = await response.text().catch((cause: unknown) => {
    throw createCoordinatorUnreachableError(response.url, cause)
  })
  return new TextAnswer(text, type, next)
}

const jsonOf = (response: HttpReply): Promise<unknown> =>
  response.json().catch((cause: unknown) => {
    if (!(cause instanceof SyntaxError))
      throw createCoordinatorUnreachableError(response.url, cause)
    throw new NotCoordinator(response.url, cause)
  })

const errorOf = async (response: HttpReply, key: string | undefined): Promise<ShoalError> => {
  const body = await response.json().catch(() => undefined)
  return fromBody(body, response, key)
}

interface Failure {
  error?: Partial<ErrorBody['error']> & {
    data?: { code?: unknown; reason?: unknown; next?: unknown }
  }
}

const fromBody = (
  body: unknown,
  { status, headers, url }: HttpReply,
  key: string | undefined,
): ShoalError => {
  const { message, ...error } = (body as Failure | undefined)?.error ?? {}
  // an error of JSON-RPC has a number, and the code beside it
  const code = error.data?.code ?? error.code
  if (!isErrorCode(code) && !headers.has('x-shoal-version')) return new NotCoordinator(url)
  if (!isErrorCode(code))
    return new ShoalError('internal', `the coordinator answered with status ${status}`)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ShoalError(code, withoutKey(String(message ?? code), key), {
    ...detailsIn({ ...error, ...error.data }),
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  })
}

const openFile = async (name: string) => (await import('./upload-file.ts')).openUpload(name)

/** Removes the key from a server's error text. */
const withoutKey = (text: string, key: string | undefined): string =>
  key === undefined || key === '' ? text : text.replaceAll(key, '[key]')

/** Reports a connection that is cut in the middle of an answer as unreachable. */
async function* rethrowUnreachable(
  body: AsyncIterable<Uint8Array>,
  url: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (cause) {
    throw createCoordinatorUnreachableError(url, cause)
  }
}

/** The data of each event (HTML standard, section 9.2.6); comments and other fields are skipped. */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { field, value } of eventFields(body)) if (field === 'data') yield value
}

/** Every line of a stream that has a name; ours have one blank behind the colon. */
async function* eventFields(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ field: string; value: string }> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const piece = decoder.decode(bytes, { stream: true })
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const at = line.indexOf(': ')
      if (at > 0) yield { field: line.slice(0, at), value: line.slice(at + 2).trimEnd() }
    }
  }
}
