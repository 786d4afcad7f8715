import { defineSource } from '../source.ts'

const HOUR_SECONDS = 3600

/** Time in `message.ratelimit.retry-at` of the body that says too many requests. */
const readRetryAt = (text: string, now: number): number => {
  const [, at = ''] = /"retry-at"\s*:\s*"([^"]{1,40})"/.exec(text) ?? []
  const seconds = (Date.parse(at) - now) / 1000
  return seconds > 0 ? Math.min(24 * HOUR_SECONDS, Math.ceil(seconds)) : HOUR_SECONDS
}

/** Forecast for solar panels: https://doc.forecast.solar. A centrally hosted service needs a key of its own. */
export default defineSource({
  id: 'forecast-solar',
  name: 'forecast.solar',
  url: 'https://api.forecast.solar',
  ttlSeconds: 900,
  maxStaleSeconds: 86_400,
  // 12 an hour for each address; a bucket may give twice its size within the time that it fills in
  rate: { requests: 6, perSeconds: 3600 },
  rateWithKey: { requests: 30, perSeconds: 3600 },
  concurrency: 1,
  isPersisted: true,
  key: { in: 'path', name: 'key', isRequired: false },
  pauseSeconds: ({ status, text }, now) => (status === 429 ? readRetryAt(text, now) : undefined),
  licence: null,
  attribution: 'Forecast.Solar',
  verify: {
    path: '/estimate/48.1/11.5/30/0/1',
    query: { time: 'utc' },
    form: 'json',
    fields: ['result.watts', 'result.watt_hours_period', 'message.ratelimit.remaining'],
  },
})
