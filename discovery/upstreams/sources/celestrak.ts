import { defineSource } from '../source.ts'

/** Orbital elements: https://celestrak.org/NORAD/documentation/gp-data-formats.php. It blocks an address that asks for the same object twice within two hours. */
export default defineSource({
  id: 'celestrak',
  name: 'celestrak',
  url: 'https://celestrak.org',
  ttlSeconds: 8 * 3600,
  maxStaleSeconds: 14 * 86_400,
  floorSeconds: 2 * 3600,
  rate: { requests: 2, perSeconds: 43_200 },
  concurrency: 1,
  isPersisted: true,
  licence: null,
  attribution: 'Orbital data: CelesTrak',
  verify: {
    path: '/NORAD/elements/gp.php',
    query: { CATNR: 25_544, FORMAT: 'json' },
    form: 'json',
    fields: ['[].OBJECT_NAME', '[].EPOCH', '[].MEAN_MOTION', '[].NORAD_CAT_ID', '[].BSTAR'],
  },
})
