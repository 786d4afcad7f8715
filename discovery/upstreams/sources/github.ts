import * as z from 'zod'
import { BEARER_TOKEN, defineSource } from '../source.ts'

/** Releases of repositories, https://docs.github.com/rest/releases; 60 requests an hour without a token. */
export default defineSource({
  id: 'github',
  name: 'github',
  url: 'https://api.github.com',
  ttlSeconds: 15 * 60,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 50, perSeconds: 3600 },
  rateWithKey: { requests: 4500, perSeconds: 3600 },
  concurrency: 4,
  isPersisted: true,
  key: { ...BEARER_TOKEN, isRequired: false },
  options: {
    repos: z
      .array(z.string().min(3).max(256))
      .max(50)
      .default([])
      .describe('Repositories that repo-releases reads when the call names none: `owner/name`.'),
  },
  pauseSeconds: ({ status, headers }, now) => {
    const isExhausted = headers['x-ratelimit-remaining'] === '0'
    if ((status !== 403 && status !== 429) || !isExhausted) return undefined
    const resetSeconds = Number(headers['x-ratelimit-reset']) - now / 1000
    return Number.isFinite(resetSeconds) ? Math.min(3600, Math.max(1, resetSeconds)) : undefined
  },
  licence: null,
  attribution: 'Release data: GitHub',
  verify: {
    path: '/repos/nodejs/node/releases',
    query: { per_page: 1 },
    form: 'json',
    fields: ['[].tag_name', '[].html_url', '[].published_at'],
  },
})
