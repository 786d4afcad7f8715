import * as z from 'zod'
import { defineLookup } from '../../module.ts'

const REGISTRY_ORIGINS = ['local', 'mcp', 'npm', 'docker'] as const

export const RegistryHit = z.strictObject({
  origin: z.enum(REGISTRY_ORIGINS).describe('`local` is the registry of what was discovered.'),
  id: z.string().max(256),
  name: z.string().max(256),
  description: z.string().max(1024).nullable(),
  version: z.string().max(64).nullable(),
  kind: z.string().max(64),
  url: z.string().max(2048).nullable(),
  updated_at: z.iso.datetime().nullable(),
  score: z.number().min(0).max(1),
})
export type RegistryHit = z.infer<typeof RegistryHit>

export const RegistrySearch = z.strictObject({
  query: z.string().max(256),
  total: z.int(),
  items: z.array(RegistryHit).max(100).describe('Best match first.'),
})
export type RegistrySearch = z.infer<typeof RegistrySearch>

export default defineLookup({
  id: 'registry-search',
  name: 'Registry search',
  description: 'Search the discovery registry and public registries of MCP servers and packages.',
  tags: ['community', 'registry', 'mcp'],
  access: 'operator',
  reach: 'internet',
  input: z.strictObject({
    query: z.string().min(2).max(256).exactOptional().describe('Words to look for.'),
  }),
  examples: [{ query: 'weather' }],
  deadlineSeconds: 30,
  data: RegistrySearch,
})
