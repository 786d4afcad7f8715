import { defineSource } from '../source.ts'

const HOUR_SECONDS = 3600

const readSeconds = (text: string | undefined): number | undefined => {
  const seconds = Number(text)
  return seconds > 0 ? Math.min(HOUR_SECONDS, seconds) : undefined
}

/** Readings of public stations: https://docs.openaq.org */
export default defineSource({
  id: 'openaq',
  name: 'openaq',
  url: 'https://api.openaq.org/v3',
  ttlSeconds: 900,
  maxStaleSeconds: 86_400,
  rate: { requests: 30, perSeconds: 60 },
  concurrency: 4,
  key: { in: 'header', name: 'X-API-Key', isRequired: true },
  pauseSeconds: ({ headers }) =>
    headers['x-ratelimit-remaining'] === '0'
      ? readSeconds(headers['x-ratelimit-reset'])
      : undefined,
  licence: null,
  attribution: 'OpenAQ and its providers',
  verify: {
    path: '/locations',
    query: { coordinates: '48.1,11.5', radius: 10_000, limit: 5 },
    form: 'json',
    fields: [
      'results[].id',
      'results[].sensors[].parameter.units',
      'results[].coordinates.latitude',
    ],
  },
})
