import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { watchAnswer } from '../../../clients/cli/watch-answer.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { VERSION } from '../../../shared/version.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { createApiDocument, fakeCoordinator } from '../../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL, shoal } from '../../support/shoal-program.ts'

const document = createApiDocument([
  ['GET', '/v1/cells', { group: 'cells', verb: 'list' }],
  ['GET', '/v1/cells/{cell_id}', { group: 'cells', verb: 'show' }],
  ['GET', '/v1/load', { group: 'load', verb: 'show' }],
  ['GET', '/v1/alerts', { group: 'alerts', verb: 'list' }],
])

const HOSTILE = 'a\u001b[2J\u202e: - # "x"\nb'

const scene = async (t: Test) => {
  let looks = 0
  let isDegraded = false
  const { url, asked } = await fakeCoordinator(t, ({ path }) => {
    if (path === '/v1/openapi.json') return [200, document]
    if (path === '/v1/cells')
      return [
        200,
        {
          cells: [
            { id: 'cell_1', note: HOSTILE },
            { id: 'cell_2', note: null },
          ],
        },
      ]
    if (path === '/v1/cells/cell_1') return [200, { id: 'cell_1', looks: Math.ceil(++looks / 2) }]
    if (path === '/v1/alerts')
      return [200, { data_state: 'empty', fleet_degraded: isDegraded, alerts: [] }]
    return path === '/v1/load' ? [200, { percent: 4 }] : undefined
  })
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
  const degrade = () => {
    isDegraded = true
  }
  return { env, asked, degrade, run: (...args: string[]) => shoal(env, args) }
}

t.test('an answer is printed as text, table, JSON, YAML or ids', async t => {
  const { run } = await scene(t)
  const list = {
    cells: [
      { id: 'cell_1', note: HOSTILE },
      { id: 'cell_2', note: null },
    ],
  }
  for (const flags of [['-o', 'yaml'], ['-oyaml'], ['--format=yaml'], ['--output', 'yaml']]) {
    const { code, out } = await run('cells', 'list', ...flags)
    t.equal(code, 0, flags.join(' '))
    t.strictSame(parse(out), list)
    t.notOk(
      ['\u001b', '\u202e'].some(steering => out.includes(steering)),
      'all is escaped',
    )
  }
  t.strictSame(JSON.parse((await run('cells', 'list', '-o', 'json')).out), list)
  t.equal((await run('cells', 'list', '-o', 'name')).out, 'cell_1\ncell_2\n')
  t.equal((await run('cells', 'show', 'cell_1', '-o', 'name')).out, 'cell_1\n')
  t.match(await run('cells', 'show', 'cell_1', '-o', 'table'), { out: /^id +looks\ncell_1 +\d\n$/ })
  t.match(await run('cells', 'show', 'cell_1'), { out: /^id +cell_1\nlooks +\d\n$/ })
  t.match(await run('load', 'show', '-o', 'name'), { code: 64, err: /no ids: use --format json/ })
  const wrong = await run('cells', 'list', '-o', 'xml')
  t.match(wrong, { code: 64, err: /choices are text, table, json, yaml, name/ })
  t.match(await run('top', '-o', 'name', '--once'), { code: 66 }, 'errors stay text')
  t.match(await run('gates', 'watch', '-o', 'yaml'), { code: 64, err: /choices are json/ })
  for (const flags of [['-o', 'yaml'], ['--output=yaml']]) {
    const failed = await run('cells', 'show', 'no', ...flags)
    t.match(parse(failed.err), { error: { code: 'not_found' } })
    t.notMatch(failed.err, '{', 'it is written as YAML')
  }
  const unparsed = await run('cells', 'show', '--output', 'json')
  t.match(JSON.parse(unparsed.err), { error: { code: 'wrong_usage' } })
  t.notMatch((await run('cells', 'list', '--help')).out, '--output')
  const usage = await run('chat', '-o', 'yaml', 'hi')
  t.match(parse(usage.err), { error: { code: 'wrong_usage', type: 'invalid_request_error' } })
})

t.test('an empty list is one line on a terminal', { skip: !hasPython }, async t => {
  const { env, run, degrade } = await scene(t)
  const look = () => runInTerminal([process.execPath, SHOAL, 'alerts', 'list'], { env })
  t.equal((await look()).out, 'no alerts\r\n')
  t.match((await run('alerts', 'list')).out, /fleet_degraded +false/, 'a pipe has the whole answer')
  degrade()
  t.match((await look()).out, /fleet_degraded +true/, 'nothing of importance is left out')
})

t.test('--watch prints what is new into a pipe, until it is ended', async t => {
  const { env } = await scene(t)
  const written: string[] = []
  const hints: string[] = []
  const left = new AbortController()
  const answers = [{ a: 1 }, { a: 1 }, 'away', 'away', { a: 2 }]
  const session = {
    format: 'text' as const,
    write: (text: string) => void written.push(text),
    hint: (text: string) => void hints.push(text),
    toText: () => '',
    toNextText: (value: object) => `${JSON.stringify(value)}\n`,
  }
  const look = async () => {
    const next = answers.shift()
    if (next === undefined) throw new ShoalError('not_found', 'no cell')
    if (typeof next === 'string') throw new ShoalError('coordinator_unavailable', next)
    return next
  }
  const waits: number[] = []
  const terminal = {
    isTTY: false,
    screen: () => ({ columns: 80, rows: 24, colour: false }),
    signal: left.signal,
    wait: async (milliseconds: number) => void waits.push(milliseconds),
  }
  await t.rejects(watchAnswer(session, look, terminal), { code: 'not_found' })
  t.strictSame(written, ['{"a":1}\n', '{"a":2}\n'])
  t.strictSame(hints, ['away; trying again'])
  t.ok(
    waits.every(each => each >= 2000),
    'it asks at most every 2 s',
  )
  t.ok(env)
})

const ENTER = '\u001b[?1049h'
const TOP = '\u001b[H'
const LEAVE = '\u001b[?1049l'

t.test('--watch redraws in place and leaves with 0', { skip: !hasPython }, async t => {
  const { env } = await scene(t)
  const argv = [process.execPath, SHOAL, 'cells', 'show', 'cell_1', '--watch']
  const { code, out } = await runInTerminal(argv, {
    env,
    steps: [{ wait: 'looks  2', type: '\u0003' }],
  })
  t.equal(code, 0)
  const places = [ENTER, 'looks  1', TOP, 'looks  2', LEAVE].map(text => out.lastIndexOf(text))
  t.strictSame(
    places.toSorted((a, b) => a - b),
    places,
  )
  t.notOk(places.includes(-1))
  t.notMatch(out, '\u001b[2J', 'the screen is never emptied')
})

t.test('a stream of YAML has a mark between its documents', async t => {
  const { loadPrinter } = await import('../../../clients/cli/printer.ts')
  const { toNextText } = await loadPrinter('yaml')
  const all = parseAllDocuments(`${toNextText({ a: 1 })}${toNextText({ a: 2 })}`)
  t.strictSame(
    all.map(each => each.toJS()),
    [{ a: 1 }, { a: 2 }],
  )
})

t.test('version names the client, the protocols and the coordinator, if one answers', async t => {
  const { url } = await fakeCoordinator(t, ({ path }) => {
    if (path === '/health') return [200, { status: 'ok', version: '9.8.7' }]
    const supportedInterfaces = [{ protocolVersion: '1.0' }, { protocolVersion: '1.0' }]
    return path.includes('agent-card') ? [200, { supportedInterfaces }] : undefined
  })
  const env = { HOME: await temporaryFolder(t) }
  const both = await shoal(env, ['version', '-o', 'json', '--url', url])
  t.match(JSON.parse(both.out), {
    client: { version: VERSION, api: 'v1' },
    link_protocol: 1,
    coordinator: { url, version: '9.8.7', a2a: ['1.0'] },
  })
  const alone = await shoal(env, ['version', '--url', 'http://127.0.0.1:9'])
  t.match(alone, { code: 0, out: /client.version +\d/, err: /no coordinator answers/ })
})
