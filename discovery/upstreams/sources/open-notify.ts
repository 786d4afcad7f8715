import { defineSource } from '../source.ts'

/** Ground point of the space station, without TLS: http://open-notify.org/Open-Notify-API */
export default defineSource({
  id: 'open-notify',
  name: 'open-notify',
  url: 'http://api.open-notify.org',
  ttlSeconds: 5,
  maxStaleSeconds: 60,
  rate: { requests: 1, perSeconds: 5 },
  concurrency: 1,
  licence: null,
  attribution: 'Open Notify',
  verify: {
    path: '/iss-now.json',
    form: 'json',
    fields: ['message', 'timestamp', 'iss_position.latitude', 'iss_position.longitude'],
  },
})
