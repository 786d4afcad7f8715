import { defineSource } from '../source.ts'

/** Data of the RIPE NCC, https://stat.ripe.net/docs/data-api; free below 1,000 requests a day. */
export default defineSource({
  id: 'ripestat',
  name: 'ripestat',
  url: 'https://stat.ripe.net',
  ttlSeconds: 4 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 900, perSeconds: 86_400 },
  concurrency: 4,
  licence: null,
  attribution: 'Routing data: RIPE NCC RIPEstat',
  verify: {
    path: '/data/network-info/data.json',
    query: { resource: '193.0.6.139', sourceapp: 'shoal' },
    form: 'json',
    fields: ['data.asns', 'data.prefix'],
  },
})
