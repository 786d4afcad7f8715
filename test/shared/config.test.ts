import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import * as z from 'zod'
import { loadConfig } from '../../shared/config.ts'
import { describeConfigFault } from '../../shared/config-fault.ts'

const schema = z.strictObject({
  http: z
    .strictObject({
      host: z.string().default('127.0.0.1').describe('Address to listen on.'),
      port: z.int().min(0).max(65_535).default(7070).describe('TCP port.'),
    })
    .prefault({}),
  tags: z.array(z.string()).default([]).describe('Labels.'),
  join_token: z.string().min(1).optional().describe('Used once.'),
  preload: z.boolean().default(true).describe('Load models at start.'),
  state_dir: z
    .string()
    .meta({ environment: 'SHOAL_PROG_STATE_DIR', provided: '$STATE_DIRECTORY/own' })
    .default('state')
    .describe('Folder.'),
  level: z.enum(['low', 'high']).default('low'),
  share: z.number().positive().max(1).default(1),
  url: z.url({ protocol: /^https?$/ }).optional(),
  database: z
    .url({ protocol: /^db$/ })
    .meta({ examples: ['db://x'] })
    .optional(),
  limit: z.union([z.int().nonnegative(), z.literal('unlimited')]).default(1),
  list: z.array(z.strictObject({ id: z.string().regex(/^[a-z]+$/) })).default([]),
  even: z
    .int()
    .refine(value => value % 2 === 0, { error: 'it must be even' })
    .optional(),
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

  t.test('an empty configuration has all defaults', async t => {
    t.match(run(), { http: { host: '127.0.0.1', port: 7070 }, tags: [], preload: true })
  })

  t.test('a flag wins over the environment, which wins over the file', async t => {
    const env = { SHOAL_CONFIG: file, SHOAL_HTTP_PORT: '2000' }
    t.equal(run([], { SHOAL_CONFIG: file })?.http.port, 1000)
    t.equal(run([], env)?.http.port, 2000)
    t.equal(run(['--http-port', '3000'], env)?.http.port, 3000)
    t.equal(run([], env)?.http.host, '127.0.0.2')
  })

  t.test('what the system provides replaces a default and yields to the file', async t => {
    const env = { STATE_DIRECTORY: '/var/lib/prog' }
    const own = join(dirname(file), 'own.yaml')
    writeFileSync(own, 'state_dir: /srv\n')
    t.equal(run([], env)?.state_dir, '/var/lib/prog/own')
    t.equal(run([], { ...env, STATE_DIRECTORY: '' })?.state_dir, 'state')
    t.equal(run(['--config', own], env)?.state_dir, '/srv')
    t.equal(run([], { ...env, SHOAL_PROG_STATE_DIR: '/x' })?.state_dir, '/x')
  })

  t.test('lists are comma-separated and booleans are words', async t => {
    t.strictSame(run(['--tags', 'x,y'])?.tags, ['x', 'y'])
    t.equal(run([], { SHOAL_PRELOAD: 'false' })?.preload, false)
  })

  t.test('a missing file is named in the error', async t => {
    t.throws(() => load(['--config', '/nowhere.yaml']), {
      code: 'config_invalid',
      message: /nowhere\.yaml/,
    })
  })

  t.test('an unknown flag is named in a wrong_usage error', async t => {
    t.throws(() => load(['--htp-port', '1']), { code: 'wrong_usage', message: /--htp-port/ })
  })

  t.test('every fault names the key, its value and what is allowed', async t => {
    for (const [yaml, fault] of [
      ['http: { port: 70000 }', 'http.port is 70000: expected an integer from 0 to 65535'],
      ['http: { port: many }', 'http.port is "many": expected an integer from 0 to 65535'],
      ['http: { port: 1.5 }', 'http.port is 1.5: expected an integer from 0 to 65535'],
      ['preload: 1', 'preload is 1: expected true or false'],
      ['tags: x', 'tags is "x": expected a list'],
      ['http: 1', 'http is 1: expected an object'],
      ['join_token: ""', 'join_token is (hidden): expected a string of at least 1 characters'],
      ['level: loud', 'level is "loud": expected one of low, high'],
      ['share: 0', 'share is 0: expected a number above 0, up to 1'],
      ['url: nope', 'url is "nope": expected an address such as https://shoal.example'],
      [
        'url: ftp://a:secret@b',
        'url is "ftp://a:(hidden)@b": expected an address such as https://shoal.example',
      ],
      ['url: ftp://a', 'url is "ftp://a": expected an address such as https://shoal.example'],
      ['database: mysql://x', 'database is "mysql://x": expected an address such as db://x'],
      ['database: ""', 'database is "": expected an address such as db://x'],
      ['limit: many', 'limit is "many": expected an integer from 0, or "unlimited"'],
      ['list: [{}]', 'list.0.id is missing: expected a string that matches ^[a-z]+$'],
      ['list: [{ id: A }]', 'list.0.id is "A": expected a string that matches ^[a-z]+$'],
      ['even: 3', 'even is 3: it must be even'],
      ['htp: 1', 'htp is not a known key; known keys: http, tags, '],
      ['http: { prt: 1 }', 'http.prt is not a known key; known keys: host, port'],
    ] as const) {
      writeFileSync(`${file}2`, yaml)
      try {
        load(['--config', `${file}2`])
        t.fail(yaml)
      } catch (error) {
        const [first, line = ''] = (error as Error).message.split('\n')
        t.equal(first, 'the configuration is not valid:')
        t.equal(line.slice(2, 2 + fault.length), fault)
      }
    }
  })

  t.test('a key with its own environment name is read only from that name', async t => {
    t.equal(run([], { SHOAL_PROG_STATE_DIR: '/a' })?.state_dir, '/a')
    const shared = { SHOAL_STATE_DIR: '/b' }
    t.throws(() => load([], shared), {
      code: 'config_invalid',
      message: /SHOAL_STATE_DIR .* set SHOAL_PROG_STATE_DIR/,
    })
    t.equal(run(['--state-dir', '/c'], shared)?.state_dir, '/c')
    t.equal(run([], { ...shared, SHOAL_PROG_STATE_DIR: '/a' })?.state_dir, '/a')
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

t.test('a fault inside a list of kinds names the kinds, or the key of the known kind', async t => {
  const Links = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('http'), url: z.string().min(3) }),
    z.strictObject({ kind: z.literal('sim'), seed: z.int().min(1).default(1) }),
  ])
  const schema = z.strictObject({ links: z.array(Links) })
  const describe = (links: object[]) => {
    const { error } = schema.safeParse({ links })
    return error?.issues.map(issue => describeConfigFault(schema, { links }, issue)) ?? []
  }
  t.strictSame(describe([{ kind: 'simm' }]), ['links.0.kind is "simm": expected one of http, sim'])
  t.strictSame(describe([{}]), ['links.0.kind is missing: expected one of http, sim'])
  t.strictSame(describe([{ kind: 'sim', seed: 0 }]), [
    'links.0.seed is 0: expected an integer from 1',
  ])
  t.strictSame(describe([{ kind: 'sim', url: 'x' }]), [
    'links.0.url is not a known key; known keys: kind, seed',
  ])
})
