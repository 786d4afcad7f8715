import { defineSource } from '../source.ts'

/** Electricity market data of the Bundesnetzagentur: https://www.smard.de */
export default defineSource({
  id: 'smard',
  name: 'smard',
  url: 'https://www.smard.de/app',
  ttlSeconds: 3600,
  maxStaleSeconds: 36 * 3600,
  rate: { requests: 6, perSeconds: 30 },
  concurrency: 1,
  licence: 'CC-BY-4.0',
  attribution: 'Bundesnetzagentur | SMARD.de',
  verify: {
    path: '/chart_data/4169/DE/index_quarterhour.json',
    form: 'json',
    fields: ['timestamps[]'],
  },
})
