import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'
import { VERSION } from '../../shared/version.ts'

export interface ReceivedRequest {
  method: string
  path: string
  body: unknown
  key: string | undefined
}

type Responder = (asked: ReceivedRequest) => [status: number, body: unknown] | undefined

/** A server that answers as a test says, and the requests that it got. 404 for all others. */
export const fakeCoordinator = async (t: Test, answer: Responder) => {
  const asked: ReceivedRequest[] = []
  const server: Server = createServer(async (request, response) => {
    const one = await readRequest(request)
    asked.push(one)
    const [status, body] = answer(one) ?? [404, error('not_found', `no ${one.path}`)]
    const headers = { 'content-type': 'application/json', 'x-shoal-version': VERSION }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked }
}

const readRequest = async (request: IncomingMessage): Promise<ReceivedRequest> => ({
  method: request.method ?? '',
  path: request.url ?? '',
  body: request.method === 'POST' ? await json(request).catch(() => undefined) : undefined,
  key: request.headers.authorization?.replace('Bearer ', ''),
})

export const error = (code: string, message: string, param: string | null = null) => ({
  error: { message, type: 'x', param, code },
})

/** An API document of operations: `['POST', '/v1/x', {group, verb}, mode?]`. */
export const createApiDocument = (
  operations: readonly [
    method: string,
    path: string,
    cli: { group: string; verb: string },
    more?: object,
  ][],
) => ({
  openapi: '3.1.0',
  paths: Object.fromEntries(
    operations.map(([method, path, cli, more = {}]) => {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      const parameters = names.map(name => ({ name, in: 'path', required: true, schema: {} }))
      const operation = { summary: 'x', parameters, 'x-shoal-cli': { ...cli, arguments: names } }
      return [path, { [method.toLowerCase()]: { ...operation, ...more } }]
    }),
  ),
})
