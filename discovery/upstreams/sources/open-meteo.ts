import * as z from 'zod'
import { readOpenMeteoPause } from '../open-meteo-pause.ts'
import { defineSource } from '../source.ts'

/** Weather and irradiance: https://open-meteo.com/en/docs. Without a key only for use that is not commercial. */
export default defineSource({
  id: 'open-meteo',
  name: 'open-meteo',
  url: 'https://api.open-meteo.com',
  urlWithKey: 'https://customer-api.open-meteo.com',
  ttlSeconds: 1800,
  maxStaleSeconds: 12 * 3600,
  // half of 10,000 a day; the other half is for open-meteo-aq
  rate: { requests: 100, perSeconds: 1800 },
  concurrency: 4,
  key: { in: 'query', name: 'apikey', isRequired: false },
  options: {
    noncommercial: z
      .boolean()
      .default(false)
      .describe('True when this service is not commercial: the free hosts may then be asked.'),
  },
  pauseSeconds: readOpenMeteoPause,
  licence: 'CC-BY-4.0',
  attribution: 'Weather data by Open-Meteo.com (https://open-meteo.com/)',
  verify: {
    path: '/v1/forecast',
    query: { latitude: 48.1, longitude: 11.5, hourly: 'temperature_2m', timeformat: 'unixtime' },
    form: 'json',
    fields: ['latitude', 'hourly.time[]', 'hourly.temperature_2m[]'],
  },
})
