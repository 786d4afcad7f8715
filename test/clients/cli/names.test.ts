import t, { type Test } from 'tap'
import { fillDeclaredStep } from '../../../clients/cli/next-step.ts'
import { matchForChange, matchObjects } from '../../../clients/cli/resolve-ids.ts'
import { operations } from '../../../coordinator/surfaces/catalogue/operations.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import {
  createApiDocument,
  error as createError,
  fakeCoordinator,
} from '../../support/fake-coordinator.ts'
import { shoal } from '../../support/shoal-program.ts'

const ROVER = 'cell_01m7whzrgvd7cyagessq0m12h7'
const ARM = 'cell_01m7whzrgvd7cyagessq0m12h8'
const DESK = 'cell_01m9aaaaaaaaaaaaaaaaaaaaaa'

const withQuery = (name: string) => ({
  parameters: [{ name, in: 'query', required: false, schema: { type: 'string' } }],
})

const withBody = (properties: object) => ({
  requestBody: { content: { 'application/json': { schema: { properties } } } },
})

const document = createApiDocument([
  ['GET', '/v1/cells', { group: 'cells', verb: 'list' }],
  ['GET', '/v1/cells/{cell_id}', { group: 'cells', verb: 'show' }],
  ['POST', '/v1/cells/{cell_id}/drain', { group: 'cells', verb: 'drain' }],
  [
    'GET',
    '/v1/cells/{cell_id}/metrics',
    { group: 'cells', verb: 'metrics', is_text: true } as never,
  ],
  ['POST', '/v1/cells/{cell_id}/models/{model}/load', { group: 'cells', verb: 'load' }],
  ['GET', '/v1/gates/requests', { group: 'gates', verb: 'requests' }],
  ['POST', '/v1/gates/requests/{request_id}/approve', { group: 'gates', verb: 'approve' }],
  ['GET', '/v1/gates', { group: 'gates', verb: 'list' }],
  ['GET', '/v1/gates/{gate_id}', { group: 'gates', verb: 'check' }],
  [
    'POST',
    '/v1/cells/{cell_id}/label',
    { group: 'cells', verb: 'label' },
    withBody({ name: { type: 'string' } }),
  ],
  [
    'POST',
    '/v1/catalogue',
    { group: 'models', verb: 'add' },
    withBody({
      model: { type: 'string' },
      on: { type: 'array', items: { type: 'string' } },
    }),
  ],
  ['DELETE', '/v1/catalogue/{model}', { group: 'models', verb: 'remove' }],
  ['GET', '/v1/usage', { group: 'usage', verb: 'list' }, withQuery('cell_id')],
  ['DELETE', '/v1/people/{person_id}', { group: 'people', verb: 'erase' }],
  ['GET', '/v1/persons', { group: 'persons', verb: 'list' }],
])

/** Coordinator that knows objects by their whole ids alone. */
const scene = async (t: Test, next: string | null = null) => {
  const known = [ROVER, ARM, DESK, 'gate_01m7xxxxxxxxxxxxxxxxxxxxxx', 'gate.major-release']
  const { url, asked } = await fakeCoordinator(t, ({ path, body }) => {
    if (path === '/v1/openapi.json') return [200, document]
    if (path === '/v1/cells')
      return [
        200,
        {
          cells: [
            { id: ROVER, name: 'rover' },
            { id: ARM, name: 'arm' },
            { id: DESK, name: 'desk' },
          ],
          next,
        },
      ]
    if (path === '/v1/models') return [200, { data: [{ id: 'model-a:7b' }, { id: 'model-b:3b' }] }]
    if (path === '/v1/gates/requests') return [200, { requests: [{ id: known[3] }], next: null }]
    if (path === '/v1/gates') return [200, { gates: [{ gate_id: 'gate.major-release' }] }]
    if (path === '/v1/persons') return [200, { persons: [{ id: 'per_1', name: 'ada' }] }]
    if (path === '/v1/catalogue') {
      const { on } = body as { on: string[] }
      const unknown = on.find(id => !known.includes(id))
      return unknown === undefined
        ? [201, { id: 'm' }]
        : [404, createError('not_found', `no cell ${unknown}`, 'on')]
    }
    if (path.startsWith('/v1/usage')) return [200, { buckets: [] }]
    if (path === '/v1/cells/lab/drain') return [200, { id: DESK, drained: true }]
    const ids = path.split('/').slice(3).map(decodeURIComponent)
    const isKnown = known.some(id => ids.includes(id))
    const isModel = !ids.includes('models') || ids.includes('model-a:7b')
    return isKnown && isModel ? [200, { id: ids[0], state: 'ok' }] : undefined
  })
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
  const run = (line: string) => shoal(env, line.split(' '))
  const calls = () => asked.filter(({ path }) => path !== '/v1/openapi.json')
  return { run, calls }
}

t.test('a value stands for one object by its id, its name, or the beginning of an id', async t => {
  const known = [
    { id: ROVER, name: 'rover' },
    { id: ARM, name: 'arm' },
    { id: 'cell_01zz', name: '01m7whz' },
    { id: 'gate.release', name: undefined },
  ]
  // the last column is what a change accepts, where that differs
  for (const [value, ids, toChange = ids] of [
    [ROVER, [ROVER]],
    ['rover', [ROVER]],
    ['rov', [ROVER], []],
    ['ro', [ROVER], []],
    ['gate.rel', ['gate.release'], []],
    ['gate.release', ['gate.release']],
    ['release', ['gate.release'], []],
    ['01', [ROVER, ARM, 'cell_01zz'], []],
    ['01m7whzrgvd7cyagessq0m12h8', [ARM], []],
    ['cell_01m7whz', [ROVER, ARM], []],
    ['cell_01m7whzr', [ROVER, ARM]],
    ['cell_01m7whzrgvd7cyagessq0m12h8', [ARM]],
    ['nobody', []],
    // a cell chooses its name: it must not take the place of another
    ['01m7whz', [ROVER, ARM, 'cell_01zz'], ['cell_01zz']],
    ['cell', []],
    ['cell_', []],
  ] as const) {
    const idsOf = (found: { id: string }[]) => found.map(({ id }) => id)
    t.strictSame(idsOf(matchObjects(known, value)), ids, value)
    t.strictSame(idsOf(matchForChange(known, value)), toChange, `${value}, to change it`)
  }
})

t.test('a change reports the object of a name, also one that the coordinator knows', async t => {
  const { run } = await scene(t)
  t.match(await run('cells drain lab'), { code: 0, err: `lab is ${DESK}\n` })
  t.equal((await run(`cells drain ${DESK}`)).err, '', 'an id needs no explanation')
  t.notMatch((await run('cells drain nobody')).err, ' is cell_', 'nothing was changed')
})

t.test('names and beginnings of ids are accepted where an id is asked for', async t => {
  const { run, calls } = await scene(t)
  for (const [line, path] of [
    [`cells show ${ROVER}`, `/v1/cells/${ROVER}`],
    ['cells show rover', `/v1/cells/${ROVER}`],
    ['cells show cell_01m9', `/v1/cells/${DESK}`],
    ['cells show 01m9', `/v1/cells/${DESK}`],
    ['cells metrics desk', `/v1/cells/${DESK}/metrics`],
    ['cells load rover model-a:7b', `/v1/cells/${ROVER}/models/model-a%3A7b/load`],
    ['gates approve gate_01m7xxxx', '/v1/gates/requests/gate_01m7xxxxxxxxxxxxxxxxxxxxxx/approve'],
    ['gates check major', '/v1/gates/gate.major-release'],
    ['usage list --cell-id rover', `/v1/usage?cell_id=${ROVER}`],
    ['usage list --cell-id nobody', '/v1/usage?cell_id=nobody'],
  ] as const) {
    const { code, err } = await run(line)
    t.equal(code, 0, `${line}: ${err}`)
    t.equal(calls().at(-1)?.path, path, line)
  }
  const before = calls().length
  await run(`cells show ${ARM}`)
  t.equal(calls().length, before + 1, 'a whole id costs no further request')
  t.match(await run('cells drain arm'), { code: 0, err: `arm is ${ARM}\n` })
})

t.test('a new join token is followed by the line for the new cell', async t => {
  const url = 'https://shoal.example:7070'
  const token = { id: 't', role: 'cell', uses_left: 1, secret: 'abc.def' }
  const { next } = operations.find(({ id }) => id === 'tokens-create') ?? {}
  t.equal(fillDeclaredStep(token, url, next), `on the new cell: shoald join ${url} --token abc.def`)
  const near = fillDeclaredStep(token, 'http://127.0.0.1:7070', next)
  t.match(near, /\nthis address is for cells on this machine/)
  const pending = { ...token, secret: undefined }
  t.equal(fillDeclaredStep(pending, url, next), undefined, 'a token that waits has no secret')
  t.equal(fillDeclaredStep(token, url, undefined), undefined)
})

t.test('a value that stands for several objects lists them, and nothing happens', async t => {
  const { run, calls } = await scene(t)
  const many = await run('cells drain cell_01m7whzr')
  t.match(many, { code: 65, out: '' })
  t.match(many.err, /cell_id "cell_01m7whzr" matches 2 objects; use an id/)
  t.match(many.err, `  ${ROVER}  rover\n  ${ARM}  arm\n`)
  t.notOk(calls().some(({ path }) => path === `/v1/cells/${ROVER}/drain`))
  for (const line of [
    'cells drain rove',
    'cells drain 01m9aaaaaaaa',
    'cells drain cell_01m9aaa',
    'cells load rover model-a',
    'models remove model-a',
  ])
    t.match(await run(line), { code: 66 }, `${line}: a change needs the whole name or id`)
  t.notOk(calls().some(({ path }) => path.includes('7b') || path.endsWith(`${ROVER}/drain`)))
  t.match(await run('cells show ro'), { code: 0 }, 'and enough to look')
  t.match(await run('cells show nobody'), { code: 66, err: /the list command of the same group/ })
  t.match(await run('people erase ada'), { code: 66 }, 'people are erased by their id alone')
})

t.test('a name in a list that is too long to read whole changes nothing', async t => {
  const { run, calls } = await scene(t, 'a-cursor')
  for (const value of ['arm', 'cell_01m9aaaa']) {
    const refused = await run(`cells drain ${value}`)
    t.match(refused, { code: 65, err: /too long to search; use a whole id.*\n {2}cell_/ })
  }
  t.notOk(calls().some(({ path }) => path.includes(`${ARM}/`) || path.includes(`${DESK}/`)))
  t.match(await run('cells show arm'), { code: 0 }, 'and enough to look')
  t.match(await run(`cells drain ${ARM}`), { code: 0 })
})

t.test('of the fields of a body, only the refused one is looked up', async t => {
  const { run, calls } = await scene(t)
  t.match(await run('cells label arm --name rover'), { code: 0, err: `arm is ${ARM}\n` })
  t.match(calls().at(-1), { path: `/v1/cells/${ARM}/label`, body: { name: 'rover' } })
  const added = await run('models add --model rover --on rover --on desk --no-wait')
  t.match(added, { code: 0, err: `rover is ${ROVER}\ndesk is ${DESK}\n` })
  t.match(calls().at(-1)?.body, { model: 'rover', on: [ROVER, DESK] })
})

t.test('an e-stop and its release need two words and no reason', async t => {
  const [estop, release] = ['/v1/estop', '/v1/estop/release']
  const done = { estop_id: 'est_1', released_at: null, cells: { asked: 1, missing: [] }, also: [] }
  const document = createApiDocument([
    ['POST', estop, { group: 'devices', verb: 'estop' }],
    ['POST', release, { group: 'devices', verb: 'release' }],
  ])
  const { url, asked } = await fakeCoordinator(t, ({ path }) => {
    if (path === '/v1/openapi.json') return [200, document]
    return path === estop || path === release ? [200, done] : undefined
  })
  const env = { SHOAL_URL: url, SHOAL_KEY: 'k', XDG_CACHE_HOME: await temporaryFolder(t) }
  for (const [words, path, body] of [
    [['estop'], estop, { all: true }],
    [['estop', 'rover-1', '--reason', 'smoke'], estop, { target: 'rover-1', reason: 'smoke' }],
    [['release', 'est_1'], release, { estop_id: 'est_1' }],
    [['devices', 'release', '--json', '{"estop_id":"est_1"}'], release, { estop_id: 'est_1' }],
  ] as const) {
    const { code, err } = await shoal(env, words)
    t.equal(code, 0, err)
    t.match(asked.at(-1), { method: 'POST', path })
    t.strictSame(asked.at(-1)?.body, body, words.join(' '))
  }
})
