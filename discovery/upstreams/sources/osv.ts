import { defineSource } from '../source.ts'

/** Vulnerabilities of packages, https://google.github.io/osv.dev/api/; licences vary by database. */
export default defineSource({
  id: 'osv',
  name: 'osv',
  url: 'https://api.osv.dev',
  ttlSeconds: 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 10, perSeconds: 1 },
  concurrency: 4,
  maxBytes: 32 * 1024 * 1024,
  licence: 'CC-BY-4.0',
  attribution: 'Package vulnerabilities: OSV.dev and its source databases',
  verify: {
    path: '/v1/query',
    body: { package: { name: 'jinja2', ecosystem: 'PyPI' }, version: '2.4.1' },
    form: 'json',
    fields: ['vulns[].id', 'vulns[].affected'],
  },
})
