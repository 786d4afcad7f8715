import { defineSource } from '../source.ts'

/** Vulnerabilities and products, https://nvd.nist.gov/developers; its notice must be shown. */
export default defineSource({
  id: 'nvd',
  name: 'nvd',
  url: 'https://services.nvd.nist.gov/rest/json',
  ttlSeconds: 2 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 5, perSeconds: 30 },
  rateWithKey: { requests: 50, perSeconds: 30 },
  concurrency: 1,
  maxBytes: 16 * 1024 * 1024,
  isPersisted: true,
  timeoutSeconds: 30,
  key: { in: 'header', name: 'apiKey', isRequired: false },
  licence: 'public domain',
  attribution:
    'This product uses data from the NVD API but is not endorsed or certified by the NVD.',
  verify: {
    path: '/cves/2.0',
    query: { cveId: 'CVE-2021-44228' },
    form: 'json',
    fields: ['totalResults', 'vulnerabilities[].cve.id', 'vulnerabilities[].cve.descriptions'],
  },
})
