import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Replaces the server's request handler by one that is given the replaced one. */
export const putInFront = (
  server: Server,
  create: (behind: RequestHandler) => RequestHandler,
): void => {
  const [behind] = server.listeners('request') as RequestHandler[]
  if (behind === undefined) return
  server.off('request', behind)
  server.on('request', create(behind))
}
