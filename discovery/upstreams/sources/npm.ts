import { defineSource } from '../source.ts'

/**
 * Search of npm packages (registry API, "GET /-/v1/search"). The operator names the registry, since
 * companies have their own.
 */
export default defineSource({
  id: 'npm',
  name: 'npm',
  url: null,
  ttlSeconds: 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 1 },
  concurrency: 1,
  licence: null,
  attribution: 'Packages: npm',
  verify: {
    path: '/-/v1/search',
    query: { text: 'mqtt', size: 1 },
    form: 'json',
    fields: ['objects[].package.name', 'objects[].package.version'],
  },
})
