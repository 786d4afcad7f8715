import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import stringWidth from 'string-width'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { type ApiCall, createApi } from '../../clients/cli/api.ts'
import { operationsOf } from '../../clients/cli/document.ts'
import { loadOperations } from '../../clients/cli/document-cache.ts'
import { nextStep } from '../../clients/cli/next-step.ts'
import { callOf } from '../../clients/cli/operation-call.ts'
import { addOperationCommands } from '../../clients/cli/operation-commands.ts'
import { createTokenViews } from '../../coordinator/fleet/enrolment/open.ts'
import type { Declaration } from '../../coordinator/kernel/declaration/declaration.ts'
import { defineOperation, type Operation } from '../../coordinator/kernel/declaration/operation.ts'
import { issueAuthority, issueServerCertificate } from '../../coordinator/kernel/tls/certificate.ts'
import { openApi } from '../../coordinator/surfaces/http/openapi.ts'
import { ShoalError } from '../../shared/errors.ts'
import { formatOutput, terminalWidth } from '../../shared/print.ts'
import { VERSION } from '../../shared/version.ts'
import { temporaryFolder, temporaryStore } from '../coordinator/kernel/store/temporary.ts'
import { appWith, views } from '../support/app.ts'

t.test('answers are printed as text by default', async t => {
  for (const [value, text] of [
    [{ cells: [] }, 'none\n'],
    [{ keys: [{ id: 'a' }], next: null }, 'id\na\n'],
    [{ data_state: 'live', keys: [{ id: 'a' }], total: 1, next: null }, 'id\na\n'],
    [{ data_state: 'empty', keys: [], total: 0 }, 'none\n'],
    [{ keys: [{ id: 'a' }], total: 2 }, 'total  2\n\nkeys:\nid\na\n'],
    [{ data_state: 'example', keys: [] }, 'data_state  example\nkeys        -\n'],
    [{ keys: [{ id: 'a' }], next: 'b' }, 'next  b\n\nkeys:\nid\na\n'],
    [{ id: 'a', next: null }, 'id    a\nnext  -\n'],
    [{ id: 'a', tags: [], none: null }, 'id    a\ntags  -\nnone  -\n'],
    [
      {
        cells: [
          { id: 'a', models: ['x', 'y'], labels: { rack: '1' } },
          { id: 'b\u001b[2J', models: [], labels: {} },
        ],
      },
      'id          models  labels\na           x,y     rack=1\nb\\u{1b}[2J  -       -\n',
    ],
    [
      { id: 'a', host: { cpus: 2, os: { name: 'x' } }, gpus: [{ index: 0 }] },
      'id            a\nhost.cpus     2\nhost.os.name  x\n\ngpus:\nindex\n0\n',
    ],
    [[{ a: 1 }, { a: 22 }], 'a\n1\n22\n'],
    // two people, the second with one of two roles: not three
    [{ id: 'g', approvals: [['legal'], ['a', 'b']] }, 'id         g\napprovals  legal,a|b\n'],
    [[], 'none\n'],
    [null, '-\n'],
    ['\u001b', '\\u{1b}\n'],
  ] as const)
    t.equal(formatOutput(value as never, 'text'), text)
  t.equal(formatOutput({ a: '\u001b\u{e0041}' }, 'json'), '{\n  "a": "\\u001b\\udb40\\udc41"\n}\n')
})

t.test('nested rows are printed as a separate table below', async t => {
  const pools = [
    {
      model: 'a',
      slots: 2,
      engines: [
        { cell_id: 'c1', ready: true },
        { cell_id: 'c2', ready: false },
      ],
    },
    { model: 'b', slots: 0, engines: [] },
  ]
  t.equal(
    formatOutput({ pools, waiting: {} }, 'text'),
    [
      'waiting  -',
      '',
      'pools:',
      'model  slots',
      'a      2',
      'b      0',
      '',
      'engines:',
      'model  cell_id  ready',
      'a      c1       true',
      'a      c2       false',
      '',
    ].join('\n'),
  )
})

t.test('a narrow terminal shows the id, state and summary of gate requests', async t => {
  const at = '2026-11-20T15:09:16Z'
  const requests = ['1', '2', '3', '4'].map(n => ({
    id: `gate_01m7whzrgvd7cyagessq0m12h${n}`,
    state: 'pending',
    summary: 'release 2.0.0',
    status: 'pending',
    gate_id: 'gate.major-release-approve',
    requester_id: 'p'.repeat(30),
    plan_text: 'x'.repeat(200),
    votes: [],
    created_at: at,
  }))
  const [head = '', row = ''] = formatOutput({ requests, next: null }, 'text', 80).split('\n')
  t.match(head, /^id +state +summary/)
  t.match(row, /^gate_\S+ +pending +release 2\.0\.0/)
})

t.test('numbers and times are printed in readable form', async t => {
  for (const [name, value, shown] of [
    ['link_round_trip_ms', 20.977581, '21'],
    ['link_round_trip_ms', 0.291642, '0.292'],
    ['p95_ms', 1234.5678, '1235'],
    ['cpu_percent', 99.3, '99.3'],
    ['count', 123_456_789, '123456789'],
    ['count', -1.005, '-1'],
    ['memory_total_bytes', 25_276_502_016, '23.5 GiB'],
    ['max_bytes', 67_108_864, '64 MiB'],
    ['bytes', 0, '0 B'],
    ['used_bytes', 1023, '1023 B'],
    ['host.sent_bytes_per_second', 1536, '1.5 KiB/s'],
    ['at', '2026-11-20T13:22:58.715Z', '2026-11-20T13:22:58Z'],
  ] as const) {
    t.equal(formatOutput({ [name]: value }, 'text'), `${name}  ${shown}\n`)
    t.match(JSON.parse(formatOutput({ [name]: value }, 'json')), { [name]: value })
  }
})

t.test('wide and combining characters take their columns', async t => {
  const names = ['plain', '東京', 'e\u0301te\u0301', '🤖 arm', '한국어 로봇', 'ﾊﾝｶｸ']
  const rows = names.map(name => ({ id: 'a', name, state: 'ok' }))
  for (const columns of [Number.POSITIVE_INFINITY, 24]) {
    const [head = '', ...lines] = formatOutput(rows, 'text', columns).trimEnd().split('\n')
    const begins = (line: string) => stringWidth(line.slice(0, line.lastIndexOf(' ') + 1))
    t.strictSame([...new Set(lines.map(begins))], [begins(head)], `${columns} columns`)
  }
  const long = [{ id: 'a', name: '東京'.repeat(20), state: 'ok' }]
  const cut = formatOutput(long, 'text', 30).split('\n')[1] ?? ''
  t.match(cut, /^a {3}(東京)+東?… +ok$/)
  t.ok(stringWidth(cut) <= 30)
})

t.test('one object shows what there is, and a list has the same columns at each call', async t => {
  const cells = [{ cell_id: 'c', state: null, phase: null, pinned: true }]
  t.equal(
    formatOutput({ id: 'm', note: '', cells }, 'text'),
    'id    m\nnote  -\n\ncells:\ncell_id  pinned\nc        true\n',
  )
  t.equal(
    formatOutput({ cells }, 'text'),
    'cell_id  state  phase  pinned\nc        -      -      true\n',
  )
  t.match(formatOutput({ cells, next: 'x' }, 'text'), /\ncell_id +state +phase +pinned\n/)
  t.match(formatOutput({ id: 'r', plan: { cells } }, 'text'), /\ncell_id +state +phase +pinned\n/)
})

t.test('a table is no wider than the terminal', async t => {
  const rows = [
    { id: 'cell_01m7whzrgvd7cyagessq0m12h7', name: 'a', models: 'x'.repeat(60), busy: 1 },
    { id: 'cell_01m7whzrgvd7cyagessq0m12h8', name: 'b', models: 'y', busy: 2 },
  ]
  const widest = (text: string) => Math.max(...text.split('\n').map(line => line.length))
  t.equal(widest(formatOutput(rows, 'text')), 31 + 2 + 4 + 2 + 60 + 2 + 4)
  const narrow = formatOutput(rows, 'text', 60)
  t.equal(widest(narrow), 60)
  t.equal(narrow.split('\n').length, 4, 'a line for each still')
  t.match(narrow, /xx… {2}1\n/, 'a long text is cut and says so')
  for (const { id } of rows) t.ok(narrow.includes(id), 'what is copied is whole')
  const [head = '', first = ''] = formatOutput(rows, 'text', 40).split('\n')
  t.match(head, /^id +name$/, 'a very narrow one has the first columns')
  t.equal(first, `${rows[0]?.id}  a`)
  for (let columns = 1; columns < 60; columns++) {
    const lines = formatOutput(rows, 'text', columns).split('\n\n')[0] ?? ''
    t.ok(widest(lines) <= columns, `it fits ${columns} columns`)
    t.equal(lines.trimEnd().split('\n').length, 3, 'and is a table')
  }
  t.match(formatOutput(rows, 'text', 20), /\ncell_01m7whzr… {2}a\n/, 'the beginning of an id')
  const many = [...rows, ...rows].map(row => ({ ...row, tier: 'pro', created_at: 'z'.repeat(20) }))
  const short = formatOutput(many, 'text', 60)
  t.equal(widest(short), 60)
  t.match(
    short,
    /y +2\n\ncolumns omitted: tier, created_at; --format json prints all\n$/,
    'many stay a table',
  )
  t.equal(short.split('\n').length, 4 + 4, 'with a line for each')
  const [audited] = many.map(row => ({ ...row, at: '2026-11-20T15:09:16Z' }))
  t.match(
    formatOutput([audited as never], 'text', 110),
    /\n.* 2026-11-20T15:09:16Z\n$/,
    'a moment is whole',
  )
  const empty = rows.map(row => ({ ...row, a_long_name: null, another: [] }))
  t.equal(formatOutput(empty, 'text', 60), narrow, 'empty columns are the first to go')
  t.match(formatOutput(empty, 'text'), /a_long_name {2}another\n/)
  t.equal(formatOutput(rows, 'json', 40), formatOutput(rows, 'json'), 'programs get everything')
  t.equal(terminalWidth({ isTTY: true, columns: 80 }), 80)
  for (const other of [{}, { columns: 80 }, { isTTY: true, columns: 0 }])
    t.equal(terminalWidth(other), undefined, 'a pipe has no width')
})

const operation = (
  id: string,
  more: Partial<Declaration & Pick<Operation, 'needsCallKey'> & { effect: 'read' | 'write' }> = {},
): Operation =>
  defineOperation({
    id,
    description: 'Does it.',
    method: 'POST',
    path: `/v1/${id}`,
    access: 'key',
    effect: 'read',
    input: z.strictObject({}),
    output: z.object({}),
    run: () => ({}),
    ...more,
  })

/** Call that the program makes for these words. */
const typedCall = async (declared: Operation, ...argv: string[]): Promise<ApiCall | undefined> => {
  const { method, path } = declared
  const document = await openApi([{ method, path, access: 'key', operation: declared }], 'http://a')
  let asked: ApiCall | undefined
  const program = new Command('shoal').exitOverride()
  addOperationCommands(program, operationsOf(document), async (operation, input) => {
    asked = callOf(operation, input)
  })
  program.configureOutput({ writeErr: () => {} })
  for (const command of flattenCommands(program))
    command.exitOverride().configureOutput({ writeErr: () => {} })
  await program.parseAsync(argv, { from: 'user' })
  return asked
}

const flattenCommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(flattenCommands),
]

const everyKind = operation('things-make-all', {
  path: '/v1/things/{thing_id}',
  method: 'PUT',
  input: z.strictObject({
    thing_id: z.string(),
    spacing_m: z.number().default(1),
    count: z.int().nullable().default(null),
    dry_run: z.boolean().default(true),
    shape: z.enum(['line', 'circle']).default('line'),
    names: z.array(z.string()).default([]),
    params: z.record(z.string(), z.unknown()).default({}),
    url: z.string().default('x'),
    owner: z.string().nullable().default(null),
    side: z.enum(['left', 'right']).nullable().default(null),
    labels: z.record(z.string(), z.string()).default({}),
  }),
})

t.test('a field that is the text of a file is named by the last argument', async t => {
  const declared = operation('things-change', {
    path: '/v1/things/{thing_id}',
    method: 'PUT',
    input: z.strictObject({ thing_id: z.string(), document: z.string(), reason: z.string() }),
    cli: { group: 'things', verb: 'change', file: 'document' },
  })
  const folder = await temporaryFolder(t)
  const file = join(folder, 'a file.yaml')
  writeFileSync(file, 'version: ä\n')
  const words = ['things', 'change', 'a', file, '--reason', 'why']
  t.match(await typedCall(declared, ...words), {
    path: '/v1/things/a',
    body: { document: 'version: ä\n', reason: 'why' },
  })
  await t.rejects(typedCall(declared, 'things', 'change', 'a', join(folder, 'none')), {
    code: 'invalid_request',
    message: /cannot read .*none: there is no such file/,
  })
  await t.rejects(typedCall(declared, 'things', 'change', 'a'), {
    code: 'commander.missingArgument',
  })
  await t.rejects(typedCall(declared, ...words, '--document', 'x'), {
    code: 'commander.unknownOption',
  })
})

t.test('flags follow from the input', async t => {
  const words = ['things', 'make', 'all', 'a/b']
  const path = '/v1/things/a%2Fb'
  for (const [flags, body] of [
    [[], {}],
    [['--spacing-m', '2.5', '--count', '-3'], { spacing_m: 2.5, count: -3 }],
    [['--dry-run'], { dry_run: true }],
    [['--no-dry-run'], { dry_run: false }],
    [['--shape', 'circle'], { shape: 'circle' }],
    [['--names', 'a', 'b'], { names: ['a', 'b'] }],
    [['--owner', 'acme'], { owner: 'acme' }],
    [['--side', 'left'], { side: 'left' }],
    [['--labels', 'rack=1', 'a=b=c'], { labels: { rack: '1', a: 'b=c' } }],
    [['--params', '{"v":[1]}'], { params: { v: [1] } }],
    [['--input-url', 'http://b'], { url: 'http://b' }],
    [['--json', '{"shape":"line","count":1}', '--count', '2'], { shape: 'line', count: 2 }],
  ] as const)
    t.strictSame(await typedCall(everyKind, ...words, ...flags), { method: 'PUT', path, body })

  for (const flags of [
    ['--spacing-m', 'wide'],
    ['--shape', 'square'],
    ['--params', '{'],
    ['--side', 'up'],
    ['--labels', 'rack'],
    ['--json', '[]'],
    ['--nothing'],
  ])
    await t.rejects(
      typedCall(everyKind, ...words, ...flags),
      { name: 'CommanderError' },
      flags.join(' '),
    )
  t.strictSame(await typedCall(operation('bare-run'), 'bare', 'run', '--json', '{}'), {
    method: 'POST',
    path: '/v1/bare-run',
    body: {},
  })
  await t.rejects(typedCall(everyKind, 'things', 'make', 'all', '..'), { code: 'invalid_request' })
})

t.test(
  'words and pairs are arguments, and a call that must not happen twice has a key',
  async t => {
    const declared = operation('things-run', {
      path: '/v1/things/{thing_id}/commands',
      input: z.strictObject({
        thing_id: z.string(),
        command: z.string(),
        params: z.record(z.string(), z.json()).exactOptional(),
      }),
      effect: 'write',
      needsCallKey: () => true,
      cli: { group: 'things', verb: 'run', words: ['command'], pairs: 'params' },
    })
    const run = (...args: string[]) => typedCall(declared, 'things', 'run', 'a', 'go', ...args)
    const bodyOf = async (...args: string[]) => (await run(...args))?.body
    t.strictSame(await bodyOf(), { command: 'go' })
    t.strictSame(await bodyOf('x_m=-1.5', 'on=true', 'name=b=c'), {
      command: 'go',
      params: { x_m: -1.5, on: true, name: 'b=c' },
    })
    t.strictSame(await bodyOf('{"path": [1, 2]}'), { command: 'go', params: { path: [1, 2] } })
    await t.rejects(run('fast'), { code: 'invalid_request', message: 'fast is not name=value' })
    t.match(await run(), { callKey: /^[0-9a-f-]{36}$/ })
    t.match(await run('--idempotency-key', 'mine'), { callKey: 'mine' })
  },
)

t.test('a GET carries its input in the query; singular and plural lead to a group', async t => {
  const list = operation('gates-list', {
    method: 'GET',
    path: '/v1/gates',
    input: z.strictObject({ limit: z.int().default(5), state: z.string().default('all') }),
  })
  for (const group of ['gates', 'gate'])
    t.strictSame(await typedCall(list, group, 'list', '--limit', '7'), {
      method: 'GET',
      path: '/v1/gates',
      query: { limit: 7 },
    })
})

t.test('an operation that runs on a cell takes --cell beside its input', async t => {
  const input = z.strictObject({ topic: z.string() })
  const sent = operation('words-send', { method: 'POST', path: '/v1/words', input, onCell: true })
  t.strictSame(await typedCall(sent, 'words', 'send', '--topic', 'a', '--cell', 'c1'), {
    method: 'POST',
    path: '/v1/words',
    body: { topic: 'a' },
    query: { cell: 'c1' },
  })
  const read = operation('words-list', { method: 'GET', path: '/v1/words', input, onCell: true })
  t.strictSame(await typedCall(read, 'words', 'list', '--topic', 'a', '--cell', 'c1'), {
    method: 'GET',
    path: '/v1/words',
    query: { topic: 'a', cell: 'c1' },
  })
})

t.test('a malformed API document is rejected', async t => {
  const cli = { group: 'a', verb: 'b', arguments: [] }
  const one = (more: object) => ({
    paths: { '/v1/a': { get: { 'x-shoal-cli': { ...cli, ...more } } } },
  })
  t.equal(operationsOf(one({})).length, 1)
  for (const bad of [
    { group: '--key' },
    { verb: '\u001b[2J' },
    { arguments: ['a b'] },
    { verb: '' },
  ])
    t.equal(operationsOf(one(bad)).length, 0, JSON.stringify(bad))
  t.throws(() => operationsOf({ paths: [] }), { code: 'internal' })
})

t.test('a wrong port and an unknown authority have an error each', async t => {
  const life = { from: Date.now() - 86_400_000, to: Date.now() + 86_400_000 }
  const { certificate, key } = await issueServerCertificate(
    await issueAuthority('shoal', life),
    ['127.0.0.1'],
    life,
  )
  const servers = {
    http: createServer((_, response) => response.end('{}')),
    https: createTlsServer({
      cert: certificate.toString(),
      key: key.export({ type: 'pkcs8', format: 'pem' }),
    }),
  }
  for (const [name, scheme, message, step] of [
    ['http', 'https', /: the server does not speak TLS/, /http:\/\//],
    ['https', 'http', /: the connection was cut/, /https:\/\//],
    [
      'https',
      'https',
      /: its certificate is from an unknown authority|: its certificate is self-signed/,
      /--ca-file/,
    ],
  ] as const) {
    const server = servers[name]
    if (!server.listening) {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      t.teardown(() => server.close())
    }
    const { port } = server.address() as AddressInfo
    const api = createApi({ url: `${scheme}://127.0.0.1:${port}`, key: 'k' })
    const error = await api.get('/v1/health').catch((error: ShoalError) => error)
    t.match(error, { code: 'coordinator_unavailable', message })
    t.match(nextStep(error as ShoalError), step)
  }
  const nobody = createApi({ url: 'http://127.0.0.1:1', key: 'k' })
  const error = await nobody.get('/v1/health').catch((error: ShoalError) => error)
  t.match(error, { message: /no coordinator answers at http:\/\/127.0.0.1:1/ })
  t.match(nextStep(error as ShoalError), /npm start/)
})

t.test('a server that accepts connections and never speaks TLS is given up', async t => {
  const open = new Set<Socket>()
  const mute = createTcpServer(socket => void open.add(socket.on('error', () => {})))
  await once(mute.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    mute.close()
  })
  const url = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`
  const api = createApi({ url, key: 'k', connectMs: 50 })
  const given = {
    code: 'coordinator_unavailable',
    message: /there is no answer \(UND_ERR_CONNECT_/,
  }
  await t.rejects(api.get('/v1/health'), given)
  const events = api.events({ method: 'GET', path: '/v1/events' }, undefined)
  await t.rejects(events.next(), given, 'a stream too')
  t.equal(open.size, 2, 'both were connected')
})

t.test('the key is sent only to the given host', async t => {
  const api = createApi({ url: 'http://127.0.0.1:1', key: 'k' })
  for (const path of ['//evil.example/v1', 'http://evil.example/', '/\\evil.example/'])
    await t.rejects(api.get(path), { code: 'invalid_request' }, path)
  await t.rejects(createApi({ url: 'ftp://a', key: undefined }).get('/'), {
    code: 'config_invalid',
  })
  await t.rejects(api.get('/v1/cells'), { code: 'coordinator_unavailable', message: /127.0.0.1:1/ })
})

t.test('the commands are cached and revalidated, and the cache is optional', async t => {
  const folder = join(t.testdir(), 'cache')
  const asked: (string | undefined)[] = []
  const documentOf = (group: string) => ({
    paths: { '/v1/a': { get: { 'x-shoal-cli': { group, verb: 'list', arguments: [] } } } },
  })
  let answer: { body: unknown; etag: string } | undefined | 'away' = {
    body: documentOf('old'),
    etag: '"1"',
  }
  const api = {
    getIfChanged: async (_path: string, etag: string | undefined) => {
      asked.push(etag)
      if (answer === 'away') throw new ShoalError('coordinator_unavailable', 'away')
      return answer
    },
  } as never
  const load = async (url: string, place = folder) =>
    (await loadOperations(api, url, place)).map(({ words }) => words.join(' '))
  t.strictSame(await load('http://a'), ['old list'])
  t.equal(statSync(folder).mode & 0o777, 0o700)
  answer = undefined
  t.strictSame(await load('http://a'), ['old list'])
  answer = 'away'
  t.strictSame(await load('http://a'), ['old list'])
  await t.rejects(load('http://b'), { code: 'coordinator_unavailable' })

  const [file = ''] = readdirSync(folder)
  const text = readFileSync(join(folder, file), 'utf8')
  answer = { body: documentOf('new'), etag: '"2"' }
  for (const [damaged, what] of [
    ['{"etag":', 'a damaged cache'],
    [text.replace(VERSION, '0.0.0'), 'the cache of another version'],
  ] as const) {
    writeFileSync(join(folder, file), damaged)
    t.strictSame(await load('http://a'), ['new list'], what)
    t.match(readFileSync(join(folder, file), 'utf8'), /"new"/)
  }
  t.strictSame(await load('http://a', '/dev/null/x'), ['new list'], 'no cache at all')
  t.strictSame(asked, [undefined, '"1"', '"1"', undefined, undefined, undefined, undefined])
})

/** The program against the real server, with a store behind it. */
const startProgram = async (t: Test) => {
  const root = resolve(import.meta.dirname, '..', '..')
  const store = await temporaryStore(t)
  const app = await appWith({ views: views({ tokens: createTokenViews(store, Date.now) }) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const env = {
    PATH: process.env.PATH,
    HOME: t.testdir(),
    SHOAL_URL: `http://127.0.0.1:${port}`,
  }
  return (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
    new Promise(done => {
      const all = [join(root, 'bin', 'shoal.mjs'), ...args]
      execFile(process.execPath, all, { env }, (error, out, err) =>
        done({ code: error === null ? 0 : Number(error.code), out, err }),
      )
    })
}

t.test('only a missing role suggests another key', async t => {
  const message = 'this call needs a key with the role reviewer'
  const refused = new ShoalError('forbidden', message, { reason: 'role_required' })
  t.match(nextStep(refused), /use a key with one of these roles/)
  t.equal(nextStep(new ShoalError('forbidden', message)), undefined)
})

t.test('the program', async t => {
  const shoal = await startProgram(t)

  t.test('has every operation of the coordinator', async t => {
    const help = await shoal('--help')
    t.equal(help.code, 0)
    for (const word of ['health', 'chat', 'cells|cell', 'tokens|token', 'skills|skill'])
      t.ok(help.out.includes(word), word)
    t.match(await shoal('skill', 'run', '--help'), { out: /vram-guard/ })
    t.match(help.out, /cells\|cell +list, show,/, 'a group says what it has, also a long one')
    const asked = await shoal('--key', 'pro-key', 'chat', 'What', 'is', 'a', 'cell?')
    t.match(asked, { code: 69, err: /cell_unavailable/ }, 'a question needs no quotes')
  })

  t.test('lists and shows skills', async t => {
    t.match(await shoal('--key', 'pro-key', 'skill', 'list'), { code: 0, out: /^id +name/ })
    const shown = await shoal(
      '--key',
      'pro-key',
      '--format',
      'json',
      'skills',
      'show',
      'skill-stats',
    )
    t.match(JSON.parse(shown.out), { id: 'skill-stats', input_schema: { type: 'object' } })
    const ran = await shoal(
      '--key',
      'reviewer-key',
      'skill',
      'run',
      'skill-stats',
      '--format',
      'json',
    )
    t.match(JSON.parse(ran.out), { calls: 0, skills: [] })
  })

  t.test('lists tokens as a table and ends one', async t => {
    t.match(await shoal('--key', 'admin-key', 'tokens', 'list'), { code: 0, out: 'none\n' })
    t.match(await shoal('--key', 'admin-key', 'token', 'revoke', 'x'), {
      code: 66,
      err: /not_found/,
    })
  })

  t.test('suggests a next step and exits with the code of the error', async t => {
    for (const [args, code, words] of [
      [['cells', 'list'], 77, /auth_required\)\n.*SHOAL_KEY/],
      [
        ['--key', 'pro-key', 'alerts', 'list'],
        77,
        /forbidden\)\nuse a key with one of these roles/,
      ],
      [
        ['--key', 'admin-key', 'tokens', 'create', '--ttl-minutes', '0'],
        65,
        /ttl_minutes.*--help/s,
      ],
      [['--url', 'http://127.0.0.1:1', 'cells', 'list'], 69, /no coordinator.*SHOAL_URL or --url/s],
      [['cells', 'paint'], 64, /./],
      [['nothing'], 64, /./],
    ] as const) {
      const ended = await shoal(...args)
      t.equal(ended.code, code, args.join(' '))
      t.match(ended.err, words)
      t.equal(ended.out, '')
    }
  })
})
