import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Replaces the server's request handler by one that is given the replaced one. Throws TypeError
 * when there is not exactly one, since a second one would be passed by.
 */
export const putInFront = (
  server: Server,
  create: (behind: RequestHandler) => RequestHandler,
): void => {
  const [behind, ...others] = server.listeners('request') as RequestHandler[]
  if (behind === undefined || others.length > 0)
    throw new TypeError(`the server has ${server.listenerCount('request')} request handlers`)
  server.off('request', behind)
  server.on('request', create(behind))
}
