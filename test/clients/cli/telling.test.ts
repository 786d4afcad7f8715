import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Command } from 'commander'
import t from 'tap'
import { describeFailure } from '../../../clients/cli/describe-failure.ts'
import { olderDeclaration } from '../../../clients/cli/known-answer.ts'
import { nextStep } from '../../../clients/cli/next-step.ts'
import { createCoordinatorUnreachableError } from '../../../clients/cli/unreachable.ts'
import { createTokenViews } from '../../../coordinator/fleet/enrolment/open.ts'
import { operations } from '../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../coordinator/surfaces/catalogue/skills.ts'
import { openApi } from '../../../coordinator/surfaces/http/openapi.ts'
import type { ErrorReason } from '../../../shared/error-reasons.ts'
import {
  type ErrorCode,
  errorBody,
  errorCodes,
  isForPrograms,
  ShoalError,
} from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { VERSION } from '../../../shared/version.ts'
import { escapeHidden } from '../../../shared/visible.ts'
import { temporaryFolder, temporaryStore } from '../../coordinator/kernel/store/temporary.ts'
import { appWith, views } from '../../support/app.ts'
import { createApiDocument, error, fakeCoordinator } from '../../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL, shoal, spawnShoal } from '../../support/shoal-program.ts'

t.test('a wrong parameter of a device points to the line that lists the right ones', async t => {
  const devices = new Command('shoal').command('devices')
  devices.command('show').argument('<device_id>')
  const run = devices.command('run').argument('<device_id>').argument('<command>')
  run.argument('[params...]').action(() => {})
  await devices.parseAsync(['run', 'rover 1', 'move-to', 'x_m=z'], { from: 'user' })
  const step = (param: string) =>
    describeFailure(new ShoalError('invalid_request', 'x_m: must be a number', { param }), {
      format: 'text',
      command: run,
    }).text
  for (const param of ['params.x_m', 'command'])
    t.match(step(param), /^shoal devices show 'rover 1' lists its commands and their param/m, param)
  t.notMatch(step('idempotency_key'), 'devices show')
})

t.test('a gate and a request in the place of the other point to the command for them', t => {
  const gates = new Command('shoal').command('gates')
  const step = (name: string, argument: string, id: string) => {
    const command = gates.command(name).argument(`<${argument}>`)
    command.args = [id]
    return describeFailure(new ShoalError('not_found', 'x'), { format: 'text', command }).text
  }
  t.match(step('check', 'gate_id', 'gate_01k'), /a request: shoal gates show gate_01k\n/)
  t.match(step('show', 'request_id', 'gate.x-y'), /a gate: shoal gates check gate\.x-y shows/)
  t.notMatch(step('reject', 'request_id', 'gate_01k'), 'this is')
  t.end()
})

t.test('only a wrong field points to the help of a command', async t => {
  t.equal(nextStep(new ShoalError('invalid_request', 'x')), undefined)
  t.match(nextStep(new ShoalError('invalid_request', 'x', { param: 'a' })), /--help/)
})

t.test('every error has a next step or is self-explanatory', async t => {
  const saysAll: ErrorCode[] = [
    'conflict',
    'forbidden',
    'origin_not_allowed',
    'method_not_allowed',
    'unsupported_media_type',
    'upgrade_required',
    'headers_too_large',
    'http_version_unsupported',
    'invalid_request',
  ]
  for (const code of errorCodes.filter(code => !isForPrograms(code) && !saysAll.includes(code)))
    t.match(nextStep(new ShoalError(code, 'x')), /\w+ \w+/, code)
  const limited = new ShoalError('rate_limited', 'x', { retryAfterSeconds: 7 })
  t.equal(nextStep(limited), 'try again in 7 s')
})

t.test('a refused login names the source of the key', async t => {
  const step = (about: object) => nextStep(new ShoalError('auth_required', 'x'), about)
  t.match(step({}), /^set SHOAL_KEY/)
  t.match(step({ key: 'k', keyFrom: 'the profile work' }), /^the key is from the profile work/)
  t.match(step({ keyHeldBack: 'the key of a is for b alone' }), /^the key of a is for b alone/)
})

t.test('a used or expired approval suggests another request', async t => {
  const step = (reason: ErrorReason, next?: string) =>
    nextStep(new ShoalError('forbidden', 'x', { reason, ...(next && { next }) }))
  t.match(step('approval_used'), /request another one/)
  t.match(step('approval_superseded'), /request another one/)
  t.match(step('approval_other_plan'), /as it was approved/)
  t.match(
    step('approval_pending', 'shoal gates approve gate_1'),
    /another person .*: shoal gates approve gate_1$/,
  )
})

t.test('a pending approval exits with 75, also beside a coordinator without reasons', async t => {
  const exitOf = (message: string, reason?: ErrorReason) =>
    describeFailure(new ShoalError('forbidden', message, { ...(reason && { reason }) }), {
      format: 'text',
      command: new Command('shoal'),
    }).code
  t.equal(exitOf('x', 'approval_pending'), 75)
  t.equal(exitOf('request gate_1 is pending'), 75)
  t.equal(exitOf('request gate_1 is pending', 'approval_used'), 77)
  t.equal(exitOf('request gate_1 is consumed'), 77)
})

t.test('an error shows the next step that it states, without escapes of a terminal', async t => {
  const next = 'shoal models show \u001b[31mx'
  t.equal(nextStep(new ShoalError('conflict', 'x', { next })), `next: ${escapeHidden(next)}`)
  const reason = 'model_not_served'
  t.equal(nextStep(new ShoalError('cell_unavailable', 'x', { reason, next })), undefined)
})

t.test('the command line never decides by the text of a message', async t => {
  const folder = join(import.meta.dirname, '../../../clients/cli')
  const READS = [
    /\bmessage\b[?!]?\.(includes|startsWith|endsWith|match|matchAll|search|indexOf)\(/,
    /\.(test|exec)\([^()]*\bmessage\b/,
    /\bmessage\b [!=]== ['"`]/,
  ]
  // an older coordinator states no reason, and scripts wait on the exit code of a pending approval
  const PENDING_WITHOUT_REASON = 'reason === undefined ? OLD_PENDING.test(message)'
  // the messages of a chat are those that its user types
  for (const name of readdirSync(folder).filter(each => !each.startsWith('chat'))) {
    const text = readFileSync(join(folder, name), 'utf8').replace(PENDING_WITHOUT_REASON, '')
    for (const read of READS) t.notMatch(text, read, name)
  }
})

t.test(
  'an unreachable coordinator is reported with the reason and the source of the address',
  async t => {
    const fetchFailure = (code: string) =>
      new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
    for (const [code, says, next] of [
      ['ECONNREFUSED', /nothing listens there/, /npm start/],
      ['ENOTFOUND', /the host name is unknown/, /SHOAL_URL/],
      ['SELF_SIGNED_CERT_IN_CHAIN', /unknown authority/, /--ca-file/],
      ['CERT_HAS_EXPIRED', /expired/, /clocks/],
      ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/, /host name from the certificate/],
      ['ERR_SSL_WRONG_VERSION_NUMBER', /not speak TLS/, /http:\/\//],
      ['EODD', /EODD/, /npm start/],
    ] as const) {
      const told = createCoordinatorUnreachableError('http://a', fetchFailure(code))
      t.match(told.message, says)
      t.match(nextStep(told, { urlFrom: 'SHOAL_URL' }), next, code)
      t.match(nextStep(told, { urlFrom: 'SHOAL_URL' }), /the address is from SHOAL_URL/)
    }
    const refused = createCoordinatorUnreachableError('http://a', fetchFailure('ECONNREFUSED'))
    const step = (url: string, urlFrom = '--url') => nextStep(refused, { url, urlFrom })
    t.match(step('http://a/hook'), /for a field called url write --input-url; start it/)
    for (const [url, from] of [
      ['http://a/'],
      ['nonsense'],
      ['http://a/hook', 'SHOAL_URL'],
    ] as const)
      t.notMatch(step(url, from), 'input-url')
    const timeout = Object.assign(new Error('x'), { name: 'TimeoutError' })
    t.match(createCoordinatorUnreachableError('http://a', timeout).message, /there is no answer/)
  },
)

t.test('the program', async t => {
  const store = await temporaryStore(t)
  const app = await appWith({ views: views({ tokens: createTokenViews(store, Date.now) }) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'admin-key' }

  t.test('with --format json every error is one JSON document and nothing else', async t => {
    for (const [args, code, name, next] of [
      [['cells', 'paint'], 64, 'wrong_usage', /shoal cells --help/],
      [['cels', 'list'], 64, 'wrong_usage', /did you mean .*cells/],
      [['ps'], 64, 'wrong_usage', /shoal top shows the fleet/],
      [['cells', 'describe', 'x'], 64, 'wrong_usage', /shoal cells show does this/],
      [['cells'], 64, 'wrong_usage', /one of: .*list/],
      [['cells', 'show'], 64, 'wrong_usage', /usage: shoal cells show <cell_id>/],
      [['cells', 'list', '--nothing'], 64, 'wrong_usage', /--help/],
      [['token', 'revoke', 'x'], 66, 'not_found', /shoal tokens list/],
      [['tokens', 'create', '--ttl-minutes', '0'], 65, 'invalid_request', /--ttl-minutes <number>/],
      [['cells', 'list', '--key', 'bad-key'], 77, 'auth_required', /from --key/],
      [['cells', 'list', '--url', 'nonsense'], 78, 'config_invalid', /from --url: .*http:\/\//],
      [['cells', 'list', '--profile', 'none'], 78, 'config_invalid', /profile list/],
      [['session', 'closeout'], 64, 'wrong_usage', /closeout --help/],
    ] as const) {
      const ended = await shoal(env, [...args, '--format', 'json'])
      t.equal(ended.code, code, `${args.join(' ')}: ${ended.err}`)
      t.equal(ended.out, '')
      const told = JSON.parse(ended.err)
      t.match(told, { error: { code: name, message: /\w/, next } }, args.join(' '))
      t.ok('param' in told.error && 'type' in told.error, "it is OpenAI's body")
    }
  })

  t.test('a missing argument is reported with its purpose and an example', async t => {
    const ended = await shoal(env, ['gate', 'request', 'gate.production-deploy'])
    t.match(ended, { code: 65, out: '' })
    t.match(
      ended.err,
      /plan is missing \(invalid_request\)\n {2}--plan <json> {2}The exact plan.*required/,
    )
    t.match(ended.err, /for example: shoal gates request GATE_ID .*--plan/)
  })

  t.test('a wrong value is reported with its flag or argument', async t => {
    for (const [args, said] of [
      [['completion', 'tcsh'], "<shell> cannot be 'tcsh': allowed choices are bash, zsh, fish"],
      [['keys', 'list', '--limit', 'x'], "--limit <number> cannot be 'x': a number is needed"],
      [
        ['gates', 'request', 'gate.x', '--plan', '{bad'],
        "--plan <json> cannot be '{bad': JSON is needed",
      ],
      [['keys', 'list', '--format', 'xml'], /^shoal: --format <format> cannot be 'xml': allowed/],
    ] as const) {
      const { code, err } = await shoal(env, args)
      t.equal(code, 64)
      if (typeof said === 'string') t.equal(err.split('\n')[0], `shoal: ${said} (wrong_usage)`)
      else t.match(err, said)
    }
    const below = await shoal(env, ['keys', 'list', '--limit', '0'])
    t.match(below.err, /for example: shoal keys list --limit 10\n/)
    const last = await shoal(env, ['audit', 'query', '--last', '2x'])
    t.match(last.err, /for example: shoal audit query --last 24h\n/)
    const choice = await shoal(env, ['keys', 'request', '--label', 'x'])
    t.match(choice.err, /--tier <choice> {2}\(required\) \(one of: free, pro, enterprise\)\n/)
    const time = await shoal(env, ['keys', 'request', '--tier', 'pro', '--expires-at', 'soon'])
    t.match(time.err, /for example: shoal keys request … --expires-at 2027-01-01T00:00:00Z\n/)
    const day = await shoal(env, ['usage', 'list', '--from', 'yesterday'])
    t.match(day.err, /for example: shoal usage list --from 2026-11-20\n/)
    const group = await shoal(env, ['usage', 'list', '--group-by', 'week'])
    t.match(group, { code: 64, err: /'week': allowed choices are hour, day, key, tenant, model/ })
  })

  t.test('every level has help that fits 80 columns', async t => {
    const main = await shoal(env, ['help'])
    t.match(main, { code: 0, err: '' })
    const heads = ['Models and skills', 'Agents', 'Fleet', 'Governance', 'Keys and usage']
    const at = [...heads, 'This program'].map(head => main.out.indexOf(`\n${head}:`))
    t.ok(
      at.every((place, i) => place > (at[i - 1] ?? 0)),
      'by area, in order',
    )
    t.match(await shoal(env, ['help', 'cells', 'paint']), { code: 64, out: '', err: /'paint'/ })
    t.notMatch(main.out, /_complete|\nMore:|\nCommands:/)
    t.ok(main.out.indexOf('\nOptions:') > main.out.indexOf('\nThis program:'), 'flags last')
    for (const words of [
      [],
      ['gates'],
      ['gates', 'request'],
      ['cells', 'config'],
      ['login'],
      ['policy', 'change'],
      ['skills', 'run', 'vram-guard'],
      ['completion'],
      ['session', 'start'],
    ]) {
      const help = await shoal(env, ['help', ...words])
      t.match(help, { code: 0, err: '', out: `Usage: shoal` }, words.join(' '))
      const wide = help.out
        .split('\n')
        .filter(line => line.length > 80 && !line.startsWith('  shoal '))
      t.strictSame(wide, [], words.join(' '))
      t.notMatch(help.out, 'admin-key')
      t.strictSame(await shoal(env, [...words, '--help']), help, 'both ways are one')
    }
  })

  t.test('help fits a narrow terminal too', { skip: !hasPython }, async t => {
    for (const words of [[], ['gates'], ['cells', 'load'], ['doctor']]) {
      const argv = [process.execPath, SHOAL, ...words, '--help']
      const { out, code } = await runInTerminal(argv, { columns: 40, env })
      t.equal(code, 0)
      const lines = out.split('\r\n').filter(line => !line.startsWith('Usage:'))
      t.strictSame(
        // one long word cannot be broken
        lines.filter(line => line.length > 40 && line.trim().includes(' ')),
        [],
        words.join(' '),
      )
    }
  })

  t.test('a process and the thread of the tests print the same', async t => {
    for (const [args, input, code] of [
      [['help', 'cells'], '', 0],
      [['--version'], '', 0],
      [['tokens', 'list', '--format', 'yaml'], '', 0],
      [['keys', 'list', '--limit', 'x'], '', 64],
      [['cells', 'list', '--key', '-'], 'bad-key', 77],
      [['chat', 'hi', '--format', 'json'], '', 69],
      [['health'], '', 69],
      [['completion', 'bash'], '', 0],
      [['profile', 'list'], '', 0],
      [['_complete'], '', 0],
    ] as const) {
      const [inThread, inProcess] = [shoal, spawnShoal].map(run => run(env, args, input))
      t.match(await inThread, { code }, args.join(' '))
      t.strictSame(await inThread, await inProcess)
    }
  })

  t.test('prints its version, and that of the coordinator when one answers', async t => {
    t.strictSame(await shoal(env, ['--version']), {
      code: 0,
      out: `shoal ${VERSION}\ncoordinator ${VERSION} at ${url}\n`,
      err: '',
    })
    const alone = { ...env, SHOAL_URL: 'http://127.0.0.1:9' }
    t.match(await shoal(alone, ['-V']), { code: 0, out: `shoal ${VERSION}\n`, err: '' })
    const { out } = await shoal(env, ['--version', '--format', 'json'])
    t.match(JSON.parse(out), { version: VERSION, coordinator: { url, version: VERSION } })
  })
})

t.test('a key on the command line is never repeated, and a proxy is not a coordinator', async t => {
  const env = { HOME: await temporaryFolder(t) }
  const { url } = await fakeCoordinator(t, () => [500, error('teapot', 'x')])
  const secret = `svc-dev-abcdefgh_${'s'.repeat(40)}`
  for (const args of [
    ['--key', secret, 'models', 'list', '--url', url],
    [secret, 'list', '--url', url],
    ['models', secret, '--url', url],
    [`--${secret}`, 'models', 'list', '--url', url],
  ]) {
    const ended = await shoal(env, args)
    t.not(ended.code, 0)
    t.notMatch(ended.out + ended.err, 'ssss', args.join(' '))
  }
})

t.test('a truncated or foreign answer has its own error code', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
  const server = createServer((request, response) => {
    if (request.url === '/v1/catalogue') return void response.end('{"models":null}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"delta":{"content":"half"}}]}\n\n', () => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = await shoal(env, ['chat', 'hi', '--url', url])
  t.match(cut, { code: 69, out: 'half', err: /no coordinator answers|connection was cut/ })
  t.notMatch(cut.err, /\n +at /, 'no stack')
  const odd = await shoal(env, ['models', 'list', '--url', url])
  t.match(odd, { code: 70, err: /^shoal: internal error: .*\nrun it with SHOAL_DEBUG=1/ })
})

t.test('an address where another program answers is reported as such', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
  for (const status of [200, 404]) {
    const server = createServer((_, response) => {
      response.statusCode = status
      response.end('<p>hello</p>')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ended = await shoal(env, ['webhooks', 'create', '--url', `${url}/hook`])
    t.match(ended, { code: 69, out: '' })
    t.match(ended.err, `the server at ${url} is not a coordinator (coordinator_unavailable)`)
    t.match(ended.err, /for a field called url write --input-url; a proxy may/)
  }
})

t.test('a conflict suggests the show command of the group', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
  const document = createApiDocument([
    ['GET', '/v1/things/{thing_id}', { group: 'things', verb: 'show' }],
    ['POST', '/v1/things/{thing_id}/parts/{part}', { group: 'things', verb: 'add' }],
    ['POST', '/v1/things', { group: 'things', verb: 'ask' }],
    ['GET', '/v1/things/{thing_id}/modes', { group: 'things', verb: 'mode get' }],
    ['PUT', '/v1/things/{thing_id}/mode', { group: 'things', verb: 'mode set' }],
  ])
  const { url } = await fakeCoordinator(t, ({ method }) =>
    method === 'GET' ? [200, document] : [409, error('conflict', 'it is in use')],
  )
  const readErrorText = async (...args: string[]) => (await shoal(env, [...args, '--url', url])).err
  t.equal(
    await readErrorText('things', 'add', 'thing_1', 'a b'),
    'shoal: it is in use (conflict)\nshoal things show thing_1 shows its state\n',
  )
  t.match(
    await readErrorText('things', 'mode', 'set', 'thing_1'),
    /\nshoal things mode get thing_1 shows/,
  )
  t.equal(await readErrorText('things', 'ask'), 'shoal: it is in use (conflict)\n')
})

const GATE_REQUEST = { 'x-shoal-answer': { kind: 'gate_request' } }

t.test('a key that waits for approval or was shown names what to do', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
  const document = createApiDocument([
    ['POST', '/v1/keys/requests/{request_id}/reveal', { group: 'keys', verb: 'reveal' }],
    ['POST', '/v1/keys', { group: 'keys', verb: 'request' }, { 'x-shoal-effect': 'gated' }],
    ['POST', '/v1/gates', { group: 'checks', verb: 'request' }, GATE_REQUEST],
    ['GET', '/v1/gates/shown', { group: 'checks', verb: 'show' }],
  ])
  let state = 'pending'
  const next = 'once it is approved, reveal the key'
  const { url } = await fakeCoordinator(t, ({ method, path }) => {
    if (path.startsWith('/v1/gates'))
      return [200, { id: 'gate_1', status: 'pending', plan_hash: 'h' }]
    if (method === 'GET') return [200, document]
    return path === '/v1/keys'
      ? [202, { status: 'pending', request_id: 'gate_1', plan_hash: 'h', next }]
      : [403, describeRefusal(state)]
  })
  const run = (...args: string[]) => shoal(env, [...args, '--url', url])
  const approve = 'another person approves it with: shoal gates approve gate_1\n'
  t.match(await run('keys', 'request'), { err: approve })
  t.equal((await run('checks', 'request')).err, approve, 'also by the id of a gate request')
  t.equal((await run('checks', 'show')).err, '', 'which a look does not repeat')
  t.match(await run('keys', 'reveal', 'gate_1'), {
    code: 75,
    err: `shoal: request gate_1 is pending (forbidden)\nit waits for approval; ${approve}`,
  })
  state = 'consumed'
  t.match(await run('key', 'reveal', 'gate_1'), {
    code: 77,
    err: /\nthe key was already shown; it cannot be shown again\n$/,
  })
})

t.test(
  'a missing resource is answered with the list command that the coordinator states',
  async t => {
    const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
    const document = createApiDocument([
      ['GET', '/v1/cells', { group: 'cells', verb: 'list' }],
      ['GET', '/v1/models', { group: 'models', verb: 'list' }],
      ['PUT', '/v1/cells/{cell_id}/models/{model}/load', { group: 'cells', verb: 'load' }],
    ])
    for (const [refusal, step] of [
      [createUnknownError('cell', 'x'), 'list the existing ones with: shoal cells list'],
      [createUnknownError('model', 'y'), 'list the available models with: shoal models list'],
      [
        new ShoalError('not_found', 'no such'),
        'the list command of the same group lists the existing ids',
      ],
    ] as const) {
      const { url } = await fakeCoordinator(t, ({ method }) =>
        method === 'GET' ? [200, document] : [404, errorBody(refusal)],
      )
      const { err } = await shoal(env, ['cells', 'load', 'x', 'y', '--url', url])
      t.equal(err, `shoal: ${refusal.message} (${refusal.code})\n${step}\n`)
    }
  },
)

t.test('sizes have readable units in text output and are exact in JSON', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'some-key' }
  const cli = { group: 'host', verb: 'x', units: { size: 'bytes', rss: 'KiB', age: 'fortnights' } }
  const answer = { data: [{ size: 270_553_174_016, rss: 2048, age: 3 }], size: null }
  const { url } = await fakeCoordinator(t, ({ path }) => [
    200,
    path === '/v1/host' ? answer : createApiDocument([['GET', '/v1/host', cli]]),
  ])
  const { out } = await shoal(env, ['host', 'x', '--url', url])
  t.match(out, /^252 GiB +2 MiB +3$/m)
  const { out: json } = await shoal(env, ['host', 'x', '--format', 'json', '--url', url])
  t.strictSame(JSON.parse(json), answer)
})

t.test('pending requests are printed as one line of JSON each', async t => {
  const env = { HOME: await temporaryFolder(t) }
  const requests = [
    { id: 'gate_2', summary: 'b' },
    { id: 'gate_1', summary: 'a\u202e' },
  ]
  const { url } = await fakeCoordinator(t, ({ path }) =>
    path.startsWith('/v1/gates/requests') ? [200, { requests, next: null }] : undefined,
  )
  const args = ['gates', 'watch', '--once', '--format', 'json', '--url', url]
  const { out, code } = await shoal(env, args)
  t.equal(code, 0)
  t.strictSame(
    out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    requests.toReversed(),
  )
  t.notMatch(out, '\u202e')
})

t.test('models are printed as a table without empty columns', async t => {
  const env = { HOME: await temporaryFolder(t) }
  const model = (id: string, weights: string | null = null) => ({
    id,
    kind: 'chat',
    state: 'cold',
    cells_ready: 0,
    context_length: 512,
    weights,
  })
  const list = async (models: object[], ...more: string[]) => {
    const { url } = await fakeCoordinator(t, ({ path }) =>
      path === '/v1/catalogue' ? [200, { models }] : undefined,
    )
    return (await shoal(env, ['models', 'list', '--url', url, ...more])).out
  }
  const head = 'id         state  kind  cells_ready  context_length'
  const row = 'cold   chat  0            512'
  t.equal(
    await list([model('a:7b'), model('b\u202e')]),
    `${head}\na:7b       ${row}\nb\\u{202e}  ${row}\n`,
  )
  const demo = model('demo', 'bundled-demo')
  t.match(await list([model('a:7b'), demo]), /weights\na:7b .* -\ndemo .* bundled-demo\n$/)
  t.equal(await list([]), 'none\n')
  t.strictSame(JSON.parse(await list([demo], '--format', 'json')), { models: [demo] })
})

t.test('commands of the groups swarm and mqtt send what their arguments say', async t => {
  const named = new Set(['swarm-run', 'swarm-list', 'swarm-show', 'swarm-abort', 'mqtt-brokers'])
  const routes = operations
    .filter(({ id }) => named.has(id))
    .map(operation => ({ ...operation, access: 'key' as const, operation }))
  const document = await openApi(routes, 'http://127.0.0.1')
  const { url, asked } = await fakeCoordinator(t, ({ path }) => [
    200,
    path === '/v1/openapi.json'
      ? document
      : { data_state: 'empty', state: 'reached', outcome: 'complete' },
  ])
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
  const formations = '/v1/swarm/formations'
  for (const [line, method, path, body] of [
    [
      'swarm run --formation circle --spacing-m 2 --members rover-1 --members rover-2',
      'POST',
      formations,
      { formation: 'circle', spacing_m: 2, members: ['rover-1', 'rover-2'] },
    ],
    ['swarm list --limit 5', 'GET', `${formations}?limit=5`, undefined],
    ['swarm show form_1', 'GET', `${formations}/form_1`, undefined],
    [
      'swarm abort form_1 --reason smoke',
      'POST',
      `${formations}/form_1/abort`,
      { reason: 'smoke' },
    ],
    ['mqtt brokers', 'GET', '/v1/mqtt/brokers', undefined],
  ] as const) {
    const { code, err } = await shoal(env, line.split(' '))
    t.equal(code, 0, `${line}: ${err}`)
    t.match(asked.at(-1), { method, path, body }, line)
  }
  for (const line of ['swarm show', 'swarm abort', 'swarm run --spacing-m wide', 'mqtt brokers x'])
    t.equal((await shoal(env, line.split(' '))).code, 64, line)
})

t.test('beside a coordinator without declared answers, calls are known by their paths', t => {
  const older = [...operations, ...skills].map(operation => ({
    operation,
    ...olderDeclaration(operation.method, operation.path),
  }))
  const known = older.filter(({ answers, isEmergency }) => answers !== undefined || isEmergency)
  t.equal(known.length, 23)
  for (const { operation, answers, isEmergency } of known) {
    t.strictSame(answers, operation.answers, operation.id)
    t.equal(isEmergency, operation.isEmergency === true, operation.id)
  }
  t.end()
})

t.test('a list of modules or keys is written as words', async t => {
  const named = new Set(['discovery-run', 'discovery-split'])
  const routes = operations
    .filter(({ id }) => named.has(id))
    .map(operation => ({ ...operation, access: 'key' as const, operation }))
  const document = await openApi(routes, 'http://127.0.0.1')
  const { url, asked } = await fakeCoordinator(t, ({ path }) => [
    200,
    path === '/v1/openapi.json' ? document : { task_id: 'task_1' },
  ])
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
  const scan = await shoal(env, ['discover', 'scan', 'network-map', 'mdns-scan'])
  t.equal(scan.code, 0, scan.err)
  t.match(asked.at(-1), { body: { modules: ['network-map', 'mdns-scan'] } })
  const split = await shoal(env, ['discover', 'split', 'ent_1', 'mac=b8:27:eb:00:00:01'])
  t.equal(split.code, 0, split.err)
  t.match(asked.at(-1), {
    path: '/v1/discovery/entities/ent_1/split',
    body: { keys: ['mac=b8:27:eb:00:00:01'] },
  })
  const unknown = await shoal(env, ['discover', 'scan', 'bogus'])
  t.match(unknown, { code: 64, err: /bogus.*network-map/s })
})

t.test('the exit code of shoal health is that of the service', async t => {
  for (const [status, code] of [
    ['ok', 0],
    ['degraded', 75],
    ['unavailable', 69],
    ['unheard of', 70],
  ] as const) {
    const health = { status, cells: 1, models: 1, latency_ms: 1 }
    const { url } = await fakeCoordinator(t, ({ path }) =>
      path === '/v1/health' ? [200, health] : undefined,
    )
    const ended = await shoal({ SHOAL_URL: url }, ['health'])
    t.match([ended.code, ended.out], [code, new RegExp(`status +${status}`)])
  }
})

const describeRefusal = (state: string) => {
  const message = `request gate_1 is ${state}`
  return state === 'pending'
    ? errorBody(
        new ShoalError('forbidden', message, {
          reason: 'approval_pending',
          next: 'shoal gates approve gate_1',
        }),
      )
    : errorBody(new ShoalError('forbidden', message, { reason: 'key_revealed' }))
}
