import { defineSource } from '../source.ts'

/** Prices of the day-ahead market in Austria: https://www.awattar.at/services/api */
export default defineSource({
  id: 'awattar-at',
  name: 'awattar-at',
  url: 'https://api.awattar.at',
  ttlSeconds: 3600,
  maxStaleSeconds: 36 * 3600,
  rate: { requests: 3, perSeconds: 30 },
  concurrency: 1,
  licence: null,
  attribution: 'aWATTar',
  verify: {
    path: '/v1/marketdata',
    form: 'json',
    fields: ['data[].start_timestamp', 'data[].end_timestamp', 'data[].marketprice', 'data[].unit'],
  },
})
