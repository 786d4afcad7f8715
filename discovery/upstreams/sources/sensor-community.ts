import { defineSource } from '../source.ts'

/** Readings of private sensors: https://github.com/opendata-stuttgart/meta/wiki/EN-APIs */
export default defineSource({
  id: 'sensor-community',
  name: 'sensor-community',
  url: 'https://data.sensor.community',
  ttlSeconds: 300,
  maxStaleSeconds: 7200,
  rate: { requests: 1, perSeconds: 60 },
  concurrency: 1,
  maxBytes: 16 * 1024 * 1024,
  licence: 'DbCL-1.0',
  attribution: 'Sensor.Community contributors',
  verify: {
    path: '/airrohr/v1/filter/area=48.78,9.18,5',
    form: 'json',
    fields: [
      '[].timestamp',
      '[].location.latitude',
      '[].sensor.id',
      '[].sensordatavalues[].value_type',
    ],
  },
})
