import * as z from 'zod'
import { defineSource } from '../source.ts'

/** Servers of the Model Context Protocol, https://registry.modelcontextprotocol.io/docs. */
export default defineSource({
  id: 'mcp-registry',
  name: 'mcp-registry',
  url: 'https://registry.modelcontextprotocol.io',
  ttlSeconds: 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 1 },
  concurrency: 1,
  options: {
    origins: z
      .array(z.enum(['local', 'mcp', 'npm', 'docker']))
      .max(4)
      .default(['local', 'mcp'])
      .describe('Registries that registry-search asks.'),
  },
  licence: null,
  attribution: 'Servers: MCP Registry',
  verify: {
    path: '/v0.1/servers',
    query: { limit: 1, version: 'latest' },
    form: 'json',
    fields: ['servers[].server.name', 'servers[].server.version'],
  },
})
