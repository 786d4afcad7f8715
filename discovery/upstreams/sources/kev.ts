import { defineSource } from '../source.ts'

/** Known exploited vulnerabilities, https://www.cisa.gov/known-exploited-vulnerabilities-catalog. */
export default defineSource({
  id: 'kev',
  name: 'cisa-kev',
  url: 'https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json',
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 30 * 86_400,
  rate: { requests: 2, perSeconds: 3600 },
  concurrency: 1,
  isPersisted: true,
  maxBytes: 32 * 1024 * 1024,
  licence: 'CC0-1.0',
  attribution: 'Exploited vulnerabilities: CISA KEV',
  verify: { path: '', form: 'json', fields: ['catalogVersion', 'vulnerabilities[].cveID'] },
})
