import { defineSource } from '../source.ts'

/** Probability of exploitation, https://www.first.org/epss/api; at most 100 ids in a request. */
export default defineSource({
  id: 'epss',
  name: 'epss',
  url: 'https://api.first.org/data/v1',
  ttlSeconds: 12 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 10, perSeconds: 10 },
  concurrency: 2,
  licence: null,
  attribution: 'EPSS: FIRST.org',
  verify: {
    path: '/epss',
    query: { cve: 'CVE-2021-44228' },
    form: 'json',
    fields: ['data[].cve', 'data[].epss', 'data[].percentile'],
  },
})
