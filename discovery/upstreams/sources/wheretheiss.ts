import { defineSource } from '../source.ts'

/** Position of the space station: https://wheretheiss.at/w/developer */
export default defineSource({
  id: 'wheretheiss',
  name: 'wheretheiss',
  url: 'https://api.wheretheiss.at',
  ttlSeconds: 5,
  maxStaleSeconds: 60,
  rate: { requests: 1, perSeconds: 1 },
  concurrency: 1,
  licence: null,
  attribution: 'Where the ISS at?',
  verify: {
    path: '/v1/satellites/25544',
    form: 'json',
    fields: [
      'latitude',
      'longitude',
      'altitude',
      'velocity',
      'visibility',
      'footprint',
      'timestamp',
    ],
  },
})
