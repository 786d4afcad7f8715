import { defineSource } from '../source.ts'

/** Benchmarks of Artificial Analysis, https://artificialanalysis.ai/documentation; needs a key. */
export default defineSource({
  id: 'aa',
  name: 'artificial-analysis',
  url: 'https://artificialanalysis.ai/api/v2',
  ttlSeconds: 6 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 5 },
  concurrency: 1,
  key: { in: 'header', name: 'x-api-key', isRequired: true },
  licence: null,
  attribution: 'Benchmarks: Artificial Analysis, https://artificialanalysis.ai',
  verify: {
    path: '/data/llms/models',
    form: 'json',
    fields: ['data[].name', 'data[].evaluations'],
  },
})
