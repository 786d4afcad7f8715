import { defineSource } from '../source.ts'

/** Open data of the German weather service as JSON: https://brightsky.dev/docs */
export default defineSource({
  id: 'brightsky',
  name: 'bright-sky',
  url: 'https://api.brightsky.dev',
  ttlSeconds: 3600,
  maxStaleSeconds: 86_400,
  rate: { requests: 5, perSeconds: 5 },
  concurrency: 1,
  licence: 'CC-BY-4.0',
  attribution: 'Data: Deutscher Wetterdienst',
  verify: {
    path: '/weather',
    query: { lat: 52.52, lon: 13.4, date: '2026-01-01', units: 'dwd' },
    form: 'json',
    fields: ['weather[].timestamp', 'weather[].temperature', 'weather[].solar', 'sources[].id'],
  },
})
