import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/server'
import Fastify from 'fastify'
import * as z from 'zod'
import { answerHeaders } from '../../../coordinator/surfaces/http/answer-headers.ts'
import { CorsPolicy } from '../../../coordinator/surfaces/http/cors.ts'
import { errors } from '../../../coordinator/surfaces/http/errors.ts'
import { requireOwnOrigin } from '../../../coordinator/surfaces/http/origin.ts'
import {
  listAllowedHosts,
  safety,
  serverLimits,
} from '../../../coordinator/surfaces/http/safety.ts'
import { mcpEndpoint } from '../../../coordinator/surfaces/mcp/endpoint.ts'
import { createListening } from '../../../coordinator/surfaces/mcp/listening.ts'
import { listenOf } from '../../../coordinator/surfaces/mcp/subscriptions.ts'
import { config as defaults } from '../../support/app.ts'
import { silent } from '../../support/cell.ts'
import { createEvents } from '../../support/memory-events.ts'
import { addPrompts, addResources } from './documents.ts'
import { addRounds, verifyState } from './rounds.ts'
import { addTools } from './tools.ts'

const fixtures = (): McpServer => {
  const server = new McpServer(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true } },
      requestState: { verify: verifyState },
    },
  )
  addTools(server)
  addRounds(server)
  addResources(server)
  addPrompts(server)
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
    server.server.setRequestHandler(method, () => ({}))
  return server
}

/** The product's endpoint with its safety, on loopback, and fixtures instead of the operations. */
export const startFixtures = async (): Promise<{ url: string; close: () => Promise<void> }> => {
  const config = defaults()
  const app = Fastify(serverLimits(config)) as never as ReturnType<typeof Fastify>
  const quota = {
    standing: () => ({ limit: 1, remaining: 1, resetSeconds: 1, burst: 1, minuteLimit: 1 }),
  }
  const cors = new CorsPolicy([])
  await app.register(errors, {})
  await app.register(answerHeaders, { quota, now: Date.now, logger: silent, cors })
  await app.register(safety, { config })
  const hosts = listAllowedHosts(config)
  const events = createEvents({ source: '/shoal/conformance', logger: silent })
  mcpEndpoint(app, {
    docs: { id: 'mcp', tag: 'agent', summary: 'Fixtures.', answer: z.looseObject({}) },
    access: 'none',
    factory: fixtures,
    listening: ({ body }, onStalled) => {
      const asked = listenOf(body)
      if (asked === undefined) return undefined
      const listener = { tenantId: 'conformance', personId: 'conformance' }
      return createListening({ events, listener, onStalled, stallMs: 30_000, ...asked })
    },
    admit: request => {
      requireOwnOrigin(request.headers.origin, hosts, cors)
      return { token: '', clientId: 'conformance', scopes: [] }
    },
    acquireStream: () => () => {},
    onError: () => {},
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { url: `http://localhost:${port}/mcp`, close: () => app.close() }
}
