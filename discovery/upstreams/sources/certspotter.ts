import { BEARER_TOKEN, defineSource } from '../source.ts'

/** Certificate search of SSLMate, https://sslmate.com/help/reference/ct_search_api_v1. */
export default defineSource({
  id: 'certspotter',
  name: 'sslmate',
  url: 'https://api.certspotter.com',
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 10, perSeconds: 3600 },
  concurrency: 1,
  key: { ...BEARER_TOKEN, isRequired: false },
  licence: null,
  attribution: 'Certificate data: SSLMate Certificate Transparency Search',
  verify: {
    path: '/v1/issuances',
    query: { domain: 'example.com', expand: 'dns_names' },
    form: 'json',
    fields: ['[].id', '[].dns_names', '[].not_before', '[].not_after'],
  },
})
