import { defineSource } from '../source.ts'

/** Prices of electricity in Europe, Fraunhofer ISE: https://api.energy-charts.info */
export default defineSource({
  id: 'energy-charts',
  name: 'energy-charts',
  url: 'https://api.energy-charts.info',
  ttlSeconds: 3600,
  maxStaleSeconds: 36 * 3600,
  rate: { requests: 3, perSeconds: 30 },
  concurrency: 1,
  licence: 'CC-BY-4.0',
  attribution: 'Energy-Charts.info; for DE-LU: Bundesnetzagentur | SMARD.de',
  verify: {
    path: '/price',
    query: { bzn: 'DE-LU' },
    form: 'json',
    fields: ['license_info', 'unix_seconds[]', 'price[]', 'unit'],
  },
})
