import { defineSource } from '../source.ts'

/** Leaderboard of code edits, https://aider.chat/docs/leaderboards/; Apache-2.0. */
export default defineSource({
  id: 'aider',
  name: 'aider',
  url: 'https://raw.githubusercontent.com/Aider-AI/aider/main/aider/website/_data',
  ttlSeconds: 86_400,
  maxStaleSeconds: 90 * 86_400,
  rate: { requests: 1, perSeconds: 10 },
  concurrency: 1,
  licence: 'Apache-2.0',
  attribution: 'Code benchmark: Aider polyglot leaderboard',
  verify: {
    path: '/polyglot_leaderboard.yml',
    form: 'yaml',
    fields: ['[].model', '[].pass_rate_2', '[].date'],
  },
})
