import { defineSource } from '../source.ts'

/** Search of container images, https://docs.docker.com/reference/api/hub/latest/. */
export default defineSource({
  id: 'dockerhub',
  name: 'docker-hub',
  url: 'https://hub.docker.com',
  ttlSeconds: 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 1 },
  concurrency: 1,
  licence: null,
  attribution: 'Images: Docker Hub',
  verify: {
    path: '/v2/search/repositories/',
    query: { query: 'nginx', page_size: 1 },
    form: 'json',
    fields: ['count', 'results[].repo_name'],
  },
})
