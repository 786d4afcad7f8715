import { deepEqual, ok } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** A turn of Codex without its sandbox, and a second one that resumes the first. */
const { HOME = '', SHOAL_URL } = process.env
const work = join(HOME, 'work')
const home = join(HOME, '.codex')
mkdirSync(work)
mkdirSync(home)
writeFileSync(
  join(home, 'config.toml'),
  `model = "long"
model_provider = "shoal"
web_search = "live"
[model_providers.shoal]
name = "shoal"
base_url = "${SHOAL_URL}/v1"
env_key = "SHOAL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`,
)
const launcher = join(
  createRequire(import.meta.url).resolve('@openai/codex/package.json'),
  '../bin/codex.js',
)
const FLAGS = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json']
const run = (...words) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [launcher, 'exec', ...words, ...FLAGS],
    { cwd: work, input: '', encoding: 'utf8', env: { ...process.env, CODEX_HOME: home } },
  )
  const events = stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
  const failed = events.filter(({ type }) => type === 'error' || type === 'turn.failed')
  deepEqual([status, failed], [0, []], stderr)
  ok(events.some(({ type }) => type === 'turn.completed'))
  return events.findLast(({ item }) => item?.type === 'agent_message')?.item.text ?? ''
}
const turn = run('Say hello.')
const second = run('resume', '--last', 'And again.')
ok(turn.length > 0 && second.length > 0)
console.log(
  JSON.stringify({
    client: '@openai/codex',
    turn: turn.slice(0, 60),
    calls: 'none: Codex forces no call, and the bundled model makes none',
    second_turn: second.slice(0, 60),
  }),
)
