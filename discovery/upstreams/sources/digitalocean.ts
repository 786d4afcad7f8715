import { BEARER_TOKEN, defineSource } from '../source.ts'

/** Droplets of an account, https://docs.digitalocean.com/reference/api. */
export default defineSource({
  id: 'digitalocean',
  name: 'digitalocean',
  url: 'https://api.digitalocean.com/v2',
  ttlSeconds: 60,
  maxStaleSeconds: 3600,
  rate: { requests: 250, perSeconds: 60 },
  concurrency: 2,
  key: { ...BEARER_TOKEN, isRequired: true },
  licence: null,
  attribution: null,
  verify: {
    path: '/droplets',
    query: { per_page: 1 },
    form: 'json',
    fields: ['droplets', 'meta.total'],
  },
})
