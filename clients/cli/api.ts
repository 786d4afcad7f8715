import { type ErrorBody, isErrorCode, ShoalError } from '../../shared/errors.ts'

export interface Api {
  get(path: string): Promise<unknown>
  /** The server-sent events of a streamed answer, as their JSON, until [DONE]. */
  stream(path: string, body: object): AsyncGenerator<unknown>
}

export interface ApiOptions {
  url: string
  key: string | undefined
}

/** The coordinator's REST API for the command line. Errors become ShoalErrors with its code. */
export const createApi = ({ url, key }: ApiOptions): Api => {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }

  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { 'content-type': 'application/json', ...authorization }
    const response = await fetch(new URL(path, url), { ...init, headers }).catch(
      (cause: unknown) => {
        throw new ShoalError('cell_unavailable', `no coordinator answers at ${url}`, { cause })
      },
    )
    if (!response.ok) throw await errorOf(response)
    return response
  }

  const get = async (path: string): Promise<unknown> => (await ask(path, { method: 'GET' })).json()

  async function* stream(path: string, body: object): AsyncGenerator<unknown> {
    const response = await ask(path, { method: 'POST', body: JSON.stringify(body) })
    for await (const data of eventData(response.body ?? new ReadableStream())) {
      if (data === '[DONE]') return
      const value = JSON.parse(data)
      if (value.error !== undefined) throw fromBody(value, response.status)
      yield value
    }
    throw new ShoalError('cell_unavailable', 'the answer ended too early')
  }

  return { get, stream }
}

const errorOf = async (response: Response): Promise<ShoalError> => {
  const body = await response.json().catch(() => undefined)
  return fromBody(body, response.status)
}

const fromBody = (body: unknown, status: number): ShoalError => {
  const { code, message } = (body as ErrorBody | undefined)?.error ?? {}
  return isErrorCode(code)
    ? new ShoalError(code, message ?? code)
    : new ShoalError('internal', `the coordinator answered with status ${status}`)
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
