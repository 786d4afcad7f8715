import { defineSource } from '../source.ts'

/** Registries of RDAP servers by top-level domain, https://data.iana.org/rdap (RFC 9224). */
export default defineSource({
  id: 'rdap-bootstrap',
  name: 'iana-rdap',
  url: 'https://data.iana.org/rdap',
  ttlSeconds: 86_400,
  maxStaleSeconds: 30 * 86_400,
  rate: { requests: 4, perSeconds: 86_400 },
  concurrency: 1,
  isPersisted: true,
  licence: 'CC0-1.0',
  attribution: null,
  verify: { path: '/dns.json', form: 'json', fields: ['version', 'services'] },
})
