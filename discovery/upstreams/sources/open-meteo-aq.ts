import { readOpenMeteoPause } from '../open-meteo-pause.ts'
import { defineSource } from '../source.ts'

/** Modelled air quality: https://open-meteo.com/en/docs/air-quality-api. It has the key and terms of open-meteo. */
export default defineSource({
  id: 'open-meteo-aq',
  name: 'open-meteo-air-quality',
  url: 'https://air-quality-api.open-meteo.com',
  urlWithKey: 'https://customer-air-quality-api.open-meteo.com',
  ttlSeconds: 3600,
  maxStaleSeconds: 86_400,
  rate: { requests: 100, perSeconds: 1800 },
  concurrency: 4,
  key: { in: 'query', name: 'apikey', sharedWith: 'open-meteo', isRequired: false },
  pauseSeconds: readOpenMeteoPause,
  licence: 'CC-BY-4.0',
  attribution: 'Open-Meteo; CAMS data',
  verify: {
    path: '/v1/air-quality',
    query: {
      latitude: 48.1,
      longitude: 11.5,
      current: 'pm10,pm2_5,european_aqi',
      timeformat: 'unixtime',
    },
    form: 'json',
    fields: ['current.time', 'current.pm2_5', 'current.european_aqi'],
  },
})
