import type { ClientRequest } from 'node:http'

/** Whole answer of a local or configured server. */
export interface BoundedAnswer {
  status: number
  text: string
}

/**
 * Sends a request without a body and reads its answer. Rejects with the error of the socket, and for
 * an answer of more than `maxBytes`; `what` names the request in that message.
 */
export const readAnswer = (
  sent: ClientRequest,
  what: string,
  maxBytes: number,
): Promise<BoundedAnswer> => {
  const { promise, resolve, reject } = Promise.withResolvers<BoundedAnswer>()
  sent.on('response', response => {
    const parts: Buffer[] = []
    let bytes = 0
    response.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes <= maxBytes) parts.push(part)
      else sent.destroy(new Error(`${what} answered more than ${maxBytes} bytes`))
    })
    response.on('error', reject)
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
    )
  })
  sent.on('error', reject)
  sent.end()
  return promise
}
