import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import * as z from 'zod'
import { loadConfig } from '../../shared/config.ts'

const schema = z.strictObject({
  http: z
    .strictObject({
      host: z.string().default('127.0.0.1').describe('Address to listen on.'),
      port: z.int().min(0).max(65_535).default(7070).describe('TCP port.'),
    })
    .prefault({}),
  tags: z.array(z.string()).default([]).describe('Labels.'),
  join_token: z.string().optional().describe('Used once.'),
  preload: z.boolean().default(true).describe('Load models at start.'),
})

const load = (argv: string[] = [], env: Record<string, string> = {}) =>
  loadConfig({ program: 'prog', schema, argv, env })

const run = (argv: string[] = [], env: Record<string, string> = {}) => {
  const loaded = load(argv, env)
  return loaded.action === 'run' ? loaded.config : undefined
}

t.test('configuration', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'shoal-config-')), 'c.yaml')
  writeFileSync(file, 'http:\n  port: 1000\n  host: 127.0.0.2\ntags: [a, b]\n')

  t.test('an empty one is all defaults', async t => {
    t.strictSame(run(), { http: { host: '127.0.0.1', port: 7070 }, tags: [], preload: true })
  })

  t.test('a flag wins over the environment, which wins over the file', async t => {
    const env = { SHOAL_CONFIG: file, SHOAL_HTTP_PORT: '2000' }
    t.equal(run([], { SHOAL_CONFIG: file })?.http.port, 1000)
    t.equal(run([], env)?.http.port, 2000)
    t.equal(run(['--http-port', '3000'], env)?.http.port, 3000)
    t.equal(run([], env)?.http.host, '127.0.0.2')
  })

  t.test('lists are separated by commas and booleans are words', async t => {
    t.strictSame(run(['--tags', 'x,y'])?.tags, ['x', 'y'])
    t.equal(run([], { SHOAL_PRELOAD: 'false' })?.preload, false)
  })

  for (const [title, argv, message] of [
    ['an unknown flag is named', ['--htp-port', '1'], /--htp-port/],
    ['a value out of range is named with its key', ['--http-port', '70000'], /http\.port/],
    ['a word where a number belongs is refused', ['--http-port', 'many'], /http\.port/],
    ['a file that is not there is named', ['--config', '/nowhere.yaml'], /nowhere\.yaml/],
  ] as const)
    t.test(title, async t => {
      t.throws(() => load([...argv]), { code: 'config_invalid', message })
    })

  t.test('an unknown key in the file is refused by name', async t => {
    writeFileSync(`${file}2`, 'htp: 1\n')
    t.throws(() => load(['--config', `${file}2`]), { code: 'config_invalid', message: /htp/ })
  })

  t.test(
    '--print-config shows every key with default, meaning and names, but no secret',
    async t => {
      const loaded = load(['--print-config', '--join-token', 'very-secret'])
      const text = loaded.action === 'print' ? loaded.text : ''
      t.match(text, /^http:\n {2}# Address to listen on\. Default: "127\.0\.0\.1"\./)
      t.match(text, /SHOAL_HTTP_PORT, --http-port/)
      t.match(text, /port: 7070/)
      t.notMatch(text, /very-secret/)
    },
  )
})
