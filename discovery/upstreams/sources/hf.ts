import { BEARER_TOKEN, defineSource } from '../source.ts'

/** Models and leaderboards, https://huggingface.co/docs/hub/api; 500 requests in five minutes. */
export default defineSource({
  id: 'hf',
  name: 'hugging-face',
  url: 'https://huggingface.co',
  ttlSeconds: 30 * 60,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 400, perSeconds: 300 },
  rateWithKey: { requests: 900, perSeconds: 300 },
  concurrency: 4,
  // a repository that was renamed is answered with a redirect to its new name
  staysOnHost: true,
  key: { ...BEARER_TOKEN, isRequired: false },
  licence: null,
  attribution: 'Model data: Hugging Face Hub',
  verify: {
    path: '/api/models',
    query: { pipeline_tag: 'text-generation', limit: 1, sort: 'downloads' },
    form: 'json',
    fields: ['[].id', '[].downloads', '[].likes', '[].tags'],
  },
})
