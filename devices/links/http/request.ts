import { once } from 'node:events'
// not undici: the socket is opened and verified by the link
import http, { type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ShoalError } from '../../../shared/errors.ts'

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT'
  url: string
  /** Body sent as JSON. */
  body?: unknown
}

interface HttpParts {
  /** Opens a socket to the verified device. */
  dial: (signal: AbortSignal) => Promise<Socket>
  authorization: string | undefined
  maxAnswerBytes: number
  signal: AbortSignal
}

/**
 * Sends one request on a connection of its own and reads the answer. Redirects are not followed: they
 * could lead out of the scope.
 * @throws ShoalError conflict for any status but 2xx, and for an answer that is too large
 */
export const sendRequest = async (
  { method, url, body }: HttpRequest,
  { dial, authorization, maxAnswerBytes, signal }: HttpParts,
): Promise<{ status: number; text: string }> => {
  const { host, pathname, search } = new URL(url)
  const socket = await dial(signal)
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const request = http.request({
    createConnection: () => socket,
    method,
    path: `${pathname}${search}`,
    signal,
    headers: {
      host,
      accept: 'application/json',
      connection: 'close',
      ...(authorization !== undefined && { authorization }),
      ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
    },
  })
  try {
    request.end(payload)
    const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
    const text = await readText(response, maxAnswerBytes)
    return { status: requireSuccess(response), text }
  } finally {
    request.on('error', () => {})
    request.destroy()
    socket.destroy()
  }
}

const readText = async (response: IncomingMessage, maxBytes: number): Promise<string> => {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes)
      throw new ShoalError('conflict', `the device answers more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const requireSuccess = ({ statusCode = 0 }: IncomingMessage): number => {
  if (statusCode >= 200 && statusCode < 300) return statusCode
  const isRedirect = statusCode >= 300 && statusCode < 400
  const why = isRedirect ? 'a redirect, which is not followed' : 'which is not a success'
  throw new ShoalError('conflict', `the device answers ${statusCode}, ${why}`)
}
