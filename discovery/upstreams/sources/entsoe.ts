import { defineSource } from '../source.ts'

/** Transparency platform of the European network operators: https://transparency.entsoe.eu */
export default defineSource({
  id: 'entsoe',
  name: 'entso-e',
  url: 'https://web-api.tp.entsoe.eu',
  ttlSeconds: 3600,
  maxStaleSeconds: 36 * 3600,
  rate: { requests: 100, perSeconds: 60 },
  concurrency: 2,
  key: { in: 'query', name: 'securityToken', variable: 'TOKEN', isRequired: true },
  licence: null,
  attribution: 'ENTSO-E Transparency Platform',
  verify: {
    path: '/api',
    query: {
      ...{ documentType: 'A44', in_Domain: '10Y1001A1001A82H', out_Domain: '10Y1001A1001A82H' },
      ...{ periodStart: '202601012300', periodEnd: '202601022300' },
    },
    form: 'xml',
    fields: ['Publication_MarketDocument.TimeSeries'],
  },
})
