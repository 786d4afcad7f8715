import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { splitLine } from '../../../clients/cli/split-line.ts'
import { manualFiles } from '../../../packaging/manual.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { createApiDocument, fakeCoordinator } from '../../support/fake-coordinator.ts'
import {
  type Environment,
  hasPython,
  runInTerminal,
  SHOAL,
  shoal,
} from '../../support/shoal-program.ts'

const run = promisify(execFile)

t.test('a line is split as a shell splits it', async t => {
  for (const [line, words] of [
    ['', ['']],
    ['shoal', ['shoal']],
    ['shoal ', ['shoal', '']],
    ['shoal  a   b', ['shoal', 'a', 'b']],
    [`shoal 'a b' "c d" e\\ f`, ['shoal', 'a b', 'c d', 'e f']],
    [`a 'b c`, ['a', 'b c']],
    [`a "b\\"c`, ['a', 'b"c']],
    [`a 'b\\'`, ['a', 'b\\']],
    ['a\\', ['a']],
  ] as const)
    t.strictSame(splitLine(line), words, line)
})

const body = (schema: object) => ({
  requestBody: { content: { 'application/json': { schema } } },
})

const document = createApiDocument([
  ['GET', '/v1/cells', { group: 'cells', verb: 'list' }],
  ['GET', '/v1/cells/{cell_id}', { group: 'cells', verb: 'show' }],
  ['POST', '/v1/cells/{cell_id}/models/{model}/load', { group: 'cells', verb: 'load' }],
  ['GET', '/v1/gates', { group: 'gates', verb: 'list' }],
  ['GET', '/v1/gates/{gate_id}', { group: 'gates', verb: 'check' }],
  ['GET', '/v1/gates/requests', { group: 'gates', verb: 'requests' }],
  ['GET', '/v1/gates/requests/{request_id}', { group: 'gates', verb: 'show' }],
  ['POST', '/v1/gates/requests/{request_id}/approve', { group: 'gates', verb: 'approve' }],
  ['DELETE', '/v1/catalogue/{model}', { group: 'models', verb: 'remove' }],
  [
    'POST',
    '/v1/devices/{device_id}/commands',
    { group: 'devices', verb: 'run', words: ['command'] } as never,
    body({ properties: { command: { type: 'string' } } }),
  ],
  ['GET', '/v1/commands', { group: 'commands', verb: 'list' }],
  ['GET', '/v1/skills/{skill_id}', { group: 'skills', verb: 'show' }],
  [
    'POST',
    '/v1/skills/formation',
    { group: 'skills', verb: 'run formation' },
    body({ properties: { shape: { type: 'string', enum: ['line', 'circle'] } } }),
  ],
  ['POST', '/v1/policy', { group: 'policy', verb: 'change', file: 'text' } as never, body({})],
])

const KEY = `svc-dev-abcdefgh_${'k'.repeat(40)}`

const CATALOGUE = [
  { id: 'a:7b', kind: 'chat', origin: 'configuration' },
  { id: 'a:9b', kind: 'chat', origin: 'added' },
  { id: 'embed-a', kind: 'embedding', origin: 'configuration' },
]

/** Coordinator with a few lists; the last cell has a name that a shell would run. */
const scene = async (t: Parameters<typeof fakeCoordinator>[0]) => {
  const home = await temporaryFolder(t)
  const { url, asked } = await fakeCoordinator(t, ({ path }) => {
    if (path === '/v1/openapi.json') return [200, document]
    if (path === '/v1/cells')
      return [200, { cells: [{ id: 'cell_1' }, { id: 'cell_2' }, { id: 'cell_$(touch_x)' }] }]
    if (path === '/v1/gates') return [200, { gates: [{ gate_id: 'gate.release' }] }]
    if (path === '/v1/gates/requests?state=pending&others=true')
      return [200, { requests: [{ id: 'gate_8' }] }]
    if (path === '/v1/devices/rover-1')
      return [200, { commands: [{ command: 'move-to' }, { command: 'stop' }] }]
    if (path === '/v1/catalogue') return [200, { models: CATALOGUE }]
    if (path === '/v1/gates/requests') return [200, { requests: [{ id: 'gate_9' }] }]
    return path === '/v1/models' ? [200, { data: [{ id: 'a:7b' }, { id: 'a:9b' }] }] : undefined
  })
  // no question fails because the machine is busy
  const env = { HOME: home, SHOAL_URL: url, SHOAL_KEY: KEY, SHOAL_COMPLETE_SECONDS: '300' }
  return { env, asked, home }
}

const candidates = async (env: Environment, ...words: string[]): Promise<string[]> => {
  const typed = {
    SHOAL_COMPLETE_WORDS: ['shoal', ...words.slice(0, -1)].join('\n'),
    SHOAL_COMPLETE_CURRENT: words.at(-1) ?? '',
  }
  const { out, code, err } = await shoal({ ...env, ...typed }, ['_complete'])
  t.strictSame([code, err], [0, ''])
  return out.split('\n').flatMap(line => (line === '' ? [] : [line.split('\t')[0] ?? '']))
}

t.test('groups, verbs, flags, values and ids are completed', async t => {
  const { env } = await scene(t)
  for (const [words, found] of [
    [['ce'], ['cells']],
    [['cell'], ['cells']],
    [
      ['cells', 'l'],
      ['list', 'load'],
    ],
    [['cell', 'sh'], ['show']],
    [
      ['cells', 'show', ''],
      ['cell_1', 'cell_2'],
    ],
    [['--format', 'json', 'cells', 'show', 'cell_2'], ['cell_2']],
    [['cells', 'show', 'cell_1', ''], []],
    [
      ['cells', 'load', 'cell_1', 'a'],
      ['a:7b', 'a:9b'],
    ],
    [['gate', 'check', ''], ['gate.release']],
    [['gates', 'show', ''], ['gate_9']],
    [['gates', 'approve', ''], ['gate_8']],
    [
      ['devices', 'run', 'rover-1', ''],
      ['move-to', 'stop'],
    ],
    [['models', 'remove', ''], ['a:9b']],
    [
      ['chat', '--model', ''],
      ['auto', 'a:7b', 'a:9b'],
    ],
    [['skill', 'show', ''], ['formation']],
    [['skill', 'run', ''], ['formation']],
    [['skill', 'run', 'formation', '--sh'], ['--shape']],
    [
      ['skill', 'run', 'formation', '--shape', ''],
      ['line', 'circle'],
    ],
    [['skill', 'run', 'formation', '--shape=c'], ['--shape=circle']],
    [['--fo'], ['--format']],
    [
      ['--format', ''],
      ['text', 'json', 'table', 'yaml', 'name'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['policy', 'change', 'x'], [':files']],
    [['chat', '--model', 'a:9'], ['a:9b']],
    [['nothing', ''], []],
  ] as const)
    t.strictSame((await candidates(env, ...words)).toSorted(), found.toSorted(), words.join(' '))
})

t.test('completion uses the key of the line or the profile, and never asks for one', async t => {
  const { env, asked } = await scene(t)
  await candidates(env, '--key', 'other', 'cells', 'show', '')
  t.match(asked.at(-1), { path: '/v1/cells', key: 'other' })
  t.strictSame(await candidates(env, '--key', '-', 'cells', 'show', 'cell_1'), ['cell_1'])
  t.match(asked.at(-1), { path: '/v1/cells', key: KEY })
})

t.test('completion is silent and fast when the coordinator does not answer', async t => {
  const home = await temporaryFolder(t)
  const away = { HOME: home, SHOAL_URL: 'http://127.0.0.1:9' }
  t.strictSame(await candidates(away, 'cells', ''), [])
  t.strictSame(await candidates(away, 'doc'), ['doctor'], 'its own commands are there')
  const mute = createServer(() => {}).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => {
    mute.closeAllConnections()
    mute.close()
  })
  const { port } = mute.address() as AddressInfo
  t.strictSame(await candidates({ HOME: home, SHOAL_URL: `http://127.0.0.1:${port}` }, 'top'), [
    'top',
  ])
  mkdirSync(join(home, '.config', 'shoal'), { recursive: true })
  writeFileSync(join(home, '.config', 'shoal', 'profiles.json'), '{', { mode: 0o644 })
  t.strictSame(await candidates(away, 'doc'), [], 'what is wrong is no candidate')
})

t.test('names from a coordinator are escaped to one line and one word', async t => {
  const home = await temporaryFolder(t)
  const words = `a: [b] 'c' "d" \`e\` $(f) \\g {h} %i`
  const summary = `${words}\t:files\n:files\r\u001b[2J`
  const { url } = await fakeCoordinator(t, ({ path }) =>
    path === '/v1/openapi.json'
      ? [
          200,
          createApiDocument([['GET', '/v1/x', { group: 'x', verb: 'list' }, { summary } as never]]),
        ]
      : undefined,
  )
  const env = { HOME: home, SHOAL_URL: url, SHOAL_KEY: KEY, SHOAL_COMPLETE_SECONDS: '300' }
  const typed = { SHOAL_COMPLETE_WORDS: 'shoal\nx', SHOAL_COMPLETE_CURRENT: '' }
  const { out } = await shoal({ ...env, ...typed }, ['_complete'])
  t.equal(out, `list\t${`${words}\\u{9}:files\\u{a}:files\\u{d}\\u{1b}[2J`.slice(0, 60)}\n`)
})

t.test('the scripts split a line without executing any of it', async t => {
  const readScript = async (name: string) => (await shoal({}, ['completion', name])).out
  const [bash, zsh, fish] = [
    await readScript('bash'),
    await readScript('zsh'),
    await readScript('fish'),
  ]
  for (const script of [bash, zsh, fish]) t.notMatch(script, /\beval\b|\$\(shoal/)
  t.match(zsh, /^#compdef shoal\n/, 'compinit finds it by its first line')
  t.match(zsh, /\{word\/\/:\/\\\\:\}/, 'a colon of a word does not begin its description')
  t.ok(fish.includes("printf '%s\\n' $line"), 'no candidate is a flag of echo')
})

t.test('the API document is not requested again', async t => {
  const { env, asked } = await scene(t)
  await candidates(env, 'cells', '')
  await candidates(env, 'cells', 'show', '')
  t.equal(asked.filter(({ path }) => path === '/v1/openapi.json').length, 1)
})

/** Reason to skip a test of this shell; false where it can run. */
const lacks = (shell: string, needsTerminal = false): string | false => {
  if (spawnSync(shell, ['-c', 'exit 0']).status !== 0) return `${shell} is not installed`
  return needsTerminal && !hasPython ? 'python3, which opens a terminal, is not installed' : false
}

const SERVICES = ['shoald', 'shoal-coordinator']
const serviceFiles = await manualFiles(SERVICES)

/**
 * A folder with a `shoal` that completes as the program does, and shows what it would get; the
 * services only show it, and their completion is in the folders of a package.
 */
const pathWith = (home: string): string => {
  mkdirSync(join(home, 'bin'))
  const script = `#!/bin/sh
case $1 in _complete|completion) exec '${process.execPath}' '${SHOAL}' "$@" ;; esac
echo "<$*>"
`
  writeFileSync(join(home, 'bin', 'shoal'), script, { mode: 0o755 })
  for (const name of SERVICES)
    writeFileSync(join(home, 'bin', name), '#!/bin/sh\necho "<$*>"\n', { mode: 0o755 })
  for (const [path, text] of serviceFiles) {
    mkdirSync(join(home, dirname(path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  writeFileSync(join(home, 'rules.yaml'), '')
  return `${join(home, 'bin')}:${process.env.PATH}`
}

/** Typed words, with tabs, and the words that the program receives. */
const TYPED = [
  ['shoal ski\trun for\t--sha\tcir\t', '<skills run formation --shape circle>'],
  ['shoal chat --model a:9\thi', '<chat --model a:9b hi>'],
  ['shoal policy change ru\t', '<policy change rules.yaml>'],
  ['shoal gate check ga\t', '<gate check gate.release>'],
  ['shoal --format=js\t', '<--format=json>'],
  ['shoald do\t--fo\tj\t', '<doctor --format json>'],
  ['shoald join url --token-f\tru\t', '<join url --token-file rules.yaml>'],
  ['shoald est\trel\t--reas\tx', '<estop release --reason x>'],
  ['shoald --config=ru\t', '<--config=rules.yaml>'],
  [
    'shoal-coordinator --state-dir join key cr\t--ti\tfr\t',
    '<--state-dir join key create --tier free>',
  ],
  ['shoal-coordinator backup rest\tru\t', '<backup restore rules.yaml>'],
  ['shoal-coordinator --log-l\twar\t', '<--log-level warn>'],
] as const

t.test('bash completes at the tab key', { skip: lacks('bash', true) }, async t => {
  const { env, home } = await scene(t)
  const first = `cd ${home}; source <(shoal completion bash);${SERVICES.map(name => ` source bash-completion/completions/${name};`).join('')} echo rea''dy\r`
  const steps = TYPED.map(([line], i) => ({
    wait: i === 0 ? 'ready\r\n' : '>\r\n',
    type: `${line}\r`,
  }))
  const done = await runInTerminal(['bash', '--norc', '--noprofile', '-i'], {
    columns: 120,
    env: { ...env, PS1: '% ', PATH: pathWith(home) },
    steps: [{ wait: '% ', type: first }, ...steps, { wait: '>\r\n', type: 'exit\r' }],
  })
  for (const [line, got] of TYPED) t.ok(done.out.includes(`\r${got}\r\n`), `${line}: ${done.out}`)
})

t.test('zsh completes at the tab key', { skip: lacks('zsh', true) }, async t => {
  const { env, home } = await scene(t)
  const first =
    `cd ${home}; fpath=(${home}/zsh/vendor-completions $fpath); autoload -Uz compinit; compinit -u -d ${home}/dump; unsetopt zle_bracketed_paste;` +
    ` source <(shoal completion zsh); echo rea''dy\r`
  const steps = TYPED.map(([line], i) => ({
    wait: i === 0 ? 'ready\r\n' : '>\r\n',
    type: `${line}\r`,
  }))
  const done = await runInTerminal(['zsh', '-f', '-i'], {
    columns: 120,
    env: { ...env, PS1: '%# ', PATH: pathWith(home) },
    steps: [{ wait: '# ', type: first }, ...steps, { wait: '>\r\n', type: 'exit\r' }],
  })
  for (const [line, got] of TYPED) t.ok(done.out.includes(`${got}\r\n`), `${line}: ${done.out}`)
})

t.test('zsh gets words and their descriptions', { skip: lacks('zsh') }, async t => {
  const { env, home } = await scene(t)
  const script = `compdef() { print "compdef $*" }
source <(shoal completion zsh)
_describe() { print -rl -- "\${(@P)2}" }
words=(shoal cell load cell_1 a); CURRENT=5; _shoal
words=(shoal cells l); CURRENT=3; _shoal`
  // the coordinator of the scene answers in this process, which must not be blocked
  const { stdout } = await run('zsh', ['-fc', script], {
    env: { ...env, PATH: pathWith(home) },
  })
  t.equal(stdout, 'compdef _shoal shoal\na\\:7b\na\\:9b\nlist:x\nload:x\n')
})

t.test('fish completes', { skip: lacks('fish') }, async t => {
  const { env, home } = await scene(t)
  const script = `shoal completion fish | source
for file in fish/vendor_completions.d/*; source $file; end
complete -C 'shoal cell show '
complete -C 'shoal cells li'
complete -C 'shoal cell load cell_1 a:9'
complete -C 'shoal --format=js'
complete -C 'shoal policy change ru'
complete -C 'shoald do'
complete -C 'shoald doctor --format j'
complete -C 'shoald estop rel'
complete -C 'shoald estop release '
complete -C 'shoald --config=ru'
complete -C 'shoal-coordinator --state-dir join key create --tier=f'
complete -C 'shoal-coordinator backup restore ru'`
  // the coordinator of the scene answers in this process, which must not be blocked
  const { stdout } = await run('fish', ['--no-config', '-c', script], {
    env: { ...env, PATH: pathWith(home) },
    cwd: home,
  })
  const services = [
    'doctor\tChecks this cell and suggests remedies; the daemon may be ru',
    ...['json', 'release', '--config=rules.yaml', '--tier=free', 'rules.yaml', ''],
  ].join('\n')
  t.equal(stdout, `cell_1\ncell_2\nlist\tx\na:9b\n--format=json\nrules.yaml\n${services}`)
})
