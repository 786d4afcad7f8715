import * as z from 'zod'
import { BEARER_TOKEN, defineSource } from '../source.ts'

/** Resources of a project, https://docs.hetzner.cloud; 3,600 requests an hour. */
export default defineSource({
  id: 'hetzner',
  name: 'hetzner',
  url: 'https://api.hetzner.cloud/v1',
  ttlSeconds: 60,
  maxStaleSeconds: 3600,
  rate: { requests: 3000, perSeconds: 3600 },
  concurrency: 2,
  key: { ...BEARER_TOKEN, isRequired: true },
  options: {
    default_provider: z
      .enum(['hetzner', 'digitalocean'])
      .optional()
      .describe('Provider that cloud-discover reads when the call names none.'),
  },
  licence: null,
  attribution: null,
  verify: {
    path: '/servers',
    query: { per_page: 1 },
    form: 'json',
    fields: ['servers', 'meta.pagination.page'],
  },
})
