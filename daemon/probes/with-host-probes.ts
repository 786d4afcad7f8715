import { errorBody, httpStatus, retryAfterSeconds, ShoalError } from '../../shared/errors.ts'
import { HOST_PROBE_PATH } from '../../shared/wire/host-probe.ts'
import type { HttpResponse } from '../inference/openai/http.ts'
import type { Handle } from '../services/link.ts'
import type { HostProbes } from './host-probes.ts'

/**
 * Answers `GET /host/<probe>?input=`; everything else goes on to the engines. For the link only:
 * programs on the machine itself have no keys here, and could ask the machine themselves.
 */
export const withHostProbes =
  (probes: HostProbes, handle: Handle): Handle =>
  (request, response) => {
    const { url = '', method } = request
    if (!url.startsWith(HOST_PROBE_PATH) || method !== 'GET') return handle(request, response)
    request.resume()
    response.on('error', () => {})
    void answer(probes, url).then(
      told => send(response, 200, told),
      error => refuse(response, error),
    )
  }

const answer = async (probes: HostProbes, url: string): Promise<object> => {
  const [path = '', query] = url.split('?', 2)
  const input = new URLSearchParams(query).get('input') ?? '{}'
  return probes.ask(path.slice(HOST_PROBE_PATH.length), readInput(input))
}

const readInput = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ShoalError('invalid_request', 'input is not valid JSON', { cause })
  }
}

const refuse = (response: HttpResponse, cause: Error): void => {
  const error =
    cause instanceof ShoalError ? cause : new ShoalError('internal', cause.message, { cause })
  const seconds = retryAfterSeconds(error)
  if (seconds !== undefined) response.setHeader('retry-after', seconds)
  send(response, httpStatus(error.code), errorBody(error))
}

/** Whoever asked may be gone. */
const send = (response: HttpResponse, status: number, body: object): void => {
  if (response.destroyed) return
  response.statusCode = status
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}
