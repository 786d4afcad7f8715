import { defineSource } from '../source.ts'

/** Certificate search of Sectigo, https://crt.sh; it allows one query at a time. */
export default defineSource({
  id: 'crtsh',
  name: 'crt.sh',
  url: 'https://crt.sh',
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 5 },
  concurrency: 1,
  timeoutSeconds: 30,
  maxBytes: 16 * 1024 * 1024,
  licence: null,
  attribution: 'Certificate data: crt.sh (Sectigo)',
  verify: {
    path: '/',
    query: { q: 'example.com', output: 'json', exclude: 'expired' },
    form: 'json',
    fields: ['[].id', '[].issuer_name', '[].name_value', '[].not_before', '[].not_after'],
  },
})
