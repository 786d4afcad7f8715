import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { UpstreamViews } from '../../../kernel/upstreams/open.ts'
import { findRepository, searchHub } from '../hub.ts'

/** Organisation and repository, which are more than dots, and a revision. */
const REPOSITORY = /^((?!\.+\/)[\w.-]+)\/((?!\.+(?:@|$))[\w.-]+)(?:@([\w./-]+))?$/

const FoundModel = z.object({
  id: z.string().describe('Repository; search for it to see its files.'),
  downloads_30d: z.int(),
  likes: z.int(),
  parameters: z.int().nullable(),
  context_length: z.int().nullable(),
  licence: z.string().nullable(),
  gated: z.string().describe('`no` when everybody may download it.'),
  updated_at: z.string().nullable(),
})

const FoundFile = z.object({
  source: z.string().describe('What `shoal models add` takes.'),
  bytes: z.int().nullable(),
  licence: z.string().nullable(),
  gated: z.boolean(),
})

export default defineOperation({
  id: 'models-search',
  description:
    'Search the hub for models with GGUF files, or list the files of one repository (org/repository).',
  method: 'GET',
  path: '/v1/hub/models',
  access: 'operator',
  effect: 'read',
  tool: false,
  openWorld: true,
  timeoutSeconds: 30,
  cli: { group: 'models', verb: 'search', words: ['query'] },
  input: z.strictObject({
    query: z.string().trim().min(1).max(200).describe('Words, or org/repository for its files.'),
    limit: z.int().min(1).max(100).default(20).describe('Maximum number of models to list.'),
  }),
  output: z.object({ models: z.array(FoundModel), files: z.array(FoundFile) }),
  examples: [{ query: 'llama 3 8b instruct' }],
  run: async ({ query, limit }, { upstreams, signal }: Context & UpstreamViews) => {
    const [, owner, repository, revision = 'main'] = REPOSITORY.exec(query) ?? []
    if (owner !== undefined && repository !== undefined) {
      const found = await findRepository(upstreams, { owner, repository, revision }, signal)
      const { id, isGated: gated, licence } = found
      const at = revision === 'main' ? '' : `@${revision}`
      const files = found.files.map(({ path, bytes }) => ({
        source: `hf:${id}/${path}${at}`,
        bytes,
        licence,
        gated,
      }))
      return { models: [], files }
    }
    const models = await searchHub(upstreams, { query, limit }, signal)
    return { models, files: [] }
  },
})
