import { defineSource } from '../source.ts'

/** RDAP servers of registries (RFC 9082, RFC 9083), found by the bootstrap unless one is set. */
export default defineSource({
  id: 'rdap',
  name: 'rdap',
  url: null,
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 1 },
  concurrency: 1,
  licence: null,
  attribution: 'Registration data: the registry and registrar of the domain',
  verify: {
    path: '/domain/example.com',
    form: 'json',
    fields: ['ldhName', 'events[].eventAction', 'entities[].roles'],
  },
})
