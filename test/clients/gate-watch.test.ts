import t from 'tap'
import type { ApiCall } from '../../clients/cli/api.ts'
import { watchGates } from '../../clients/cli/gate-watch.ts'
import type { CliSession } from '../../clients/cli/session.ts'
import { ShoalError } from '../../shared/errors.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { createApiDocument, fakeCoordinator } from '../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL } from '../support/shoal-program.ts'

const request = (id: string, parts: object = {}) => ({
  id,
  gate_id: 'gate.minor-release-approve',
  requester_id: 'bea',
  summary: 'release',
  plan_text: '{"release":"1.4"}',
  plan_hash: 'abc',
  evidence_text: null,
  reason: null,
  approvals_missing: 1,
  votes: [],
  expires_at: '2026-11-21T00:00:00Z',
  ...parts,
})

/** A session over a list of requests, and what was called and written. */
const scene = (requests: object[], refuse?: string) => {
  const calls: ApiCall[] = []
  const lists: ApiCall[] = []
  let out = ''
  const api = {
    call: async (call: ApiCall) => {
      if (call.method === 'GET') {
        lists.push(call)
        return { requests }
      }
      calls.push(call)
      if (refuse !== undefined) throw new ShoalError('forbidden', refuse)
      return { state: call.path.endsWith('/reject') ? 'blocked' : 'approved' }
    },
  }
  const write = (text: string) => {
    out += text
  }
  const session = { api, format: 'text', write } as unknown as CliSession
  return { session, calls, lists, out: () => out }
}
const answerWith = (...answers: string[]) => ({
  ask: async (): Promise<string | undefined> => answers.shift() ?? '',
  signal: new AbortController().signal,
  wait: async () => {},
})

t.test('each request is shown in full, oldest first, and decided by the operator', async t => {
  const { session, calls, out } = scene([request('gate_3'), request('gate_2'), request('gate_1')])
  await watchGates(session, answerWith('a', 'fine', 'reject', 'no', 's'), true)
  t.strictSame(
    calls.map(({ path, body }) => [path, body]),
    [
      ['/v1/gates/requests/gate_1/approve', { reason: 'fine' }],
      ['/v1/gates/requests/gate_2/reject', { reason: 'no' }],
    ],
  )
  t.match(out(), /plan +\{"release":"1\.4"\}/)
  t.match(out(), /^rejected$/m, 'it is named as it was asked for')
  t.match(out(), /skipped/)
  t.match(out(), /evidence +none\n/, 'what nobody gave is no word of a program')
  t.match(out(), /missing +1 approval\n/, 'one is not many')
  t.notOk(out().includes('void'))
})

t.test(
  'a request that can never pass shows the reason, and evidence is shown unchanged',
  async t => {
    const evidence_text = '{"a":1,"a\\u{200b}":2}'
    const reason = 'the rules of gate.x have changed since'
    const { session, out } = scene([request('g', { evidence_text, reason, approvals_missing: 2 })])
    await watchGates(session, answerWith('s'), true)
    t.match(out(), `evidence   ${evidence_text}\n`)
    t.match(out(), `void       ${reason}\n`)
    t.match(out(), /missing +2 approvals\n/)
  },
)

t.test('a long plan is shown over several lines, unchanged', async t => {
  const rules = Array.from({ length: 3 }, (_, n) => ({
    actions: ['a.b', `c${n}, {"[`],
    id: `rule-${n}`,
    reason: 'a backslash \\ and a quote " stay as they are',
  }))
  const plan_text = JSON.stringify({
    action: 'policy.change',
    document: { rules },
    end: '\\u{202e}',
  })
  const { session, out } = scene([request('g', { plan_text })])
  await watchGates(session, answerWith('s'), true)
  const margin = ' '.repeat(11)
  t.ok(out().includes(`plan       {\n${margin}  "action": "policy.change",\n`))
  t.ok(
    out().includes(`\n${margin}        "actions": ["a.b","c1, {\\"["],\n`),
    'what is short stays',
  )
  const shown = out().slice(out().indexOf('{'), out().indexOf('plan hash'))
  t.same(JSON.parse(shown), JSON.parse(plan_text))
  t.ok(
    out()
      .split('\n')
      .every(line => line === '' || /^( {11}\S?|\S)/.test(line)),
  )
})

t.test('a plan of the coordinator is shown as tables', async t => {
  const plan_text = '{"operations":[{"op":"go","x_m":3.14159}],"verb":"move-to"}'
  const { session, out } = scene([request('g', { plan_text, subject: 'shoal:device:d:move-to' })])
  await watchGates(session, answerWith('s'), true)
  t.match(out(), /\nplan +verb +move-to\n\s+operations:\n +op +x_m\n +go +3\.14159\nplan hash/)
})

t.test('a plan that is not JSON is shown unchanged', async t => {
  for (const plan_text of ['{"a":"b', 'a"b', '']) {
    const { session, out } = scene([request('g', { plan_text })])
    await watchGates(session, answerWith('s'), true)
    t.ok(out().includes(`plan       ${plan_text}\n`))
  }
  const deep = '['.repeat(20_000)
  const { session, out } = scene([request('g', { plan_text: deep })])
  await watchGates(session, answerWith('s'), true)
  t.equal(out().split('[').length, 20_001)
})

t.test('an answer that is no verb is asked for again', async t => {
  const { session, calls, out } = scene([request('gate_1')])
  const typos = ['', 'y', 'yes', 'A pprove', 'constructor']
  await watchGates(session, answerWith(...typos, 'a', 'fine'), true)
  t.match(calls, [{ path: '/v1/gates/requests/gate_1/approve', body: { reason: 'fine' } }])
  t.equal(out().split('please answer').length - 1, typos.length)
})

t.test('Ctrl-C, Ctrl-D and the end of the input decide nothing', async t => {
  for (const answers of [[], ['a'], ['r'], ['what', 'a']]) {
    const { session, calls, out } = scene([request('gate_1')])
    await watchGates(session, { ...answerWith(), ask: async () => answers.shift() }, true)
    t.strictSame(calls, [])
    t.match(out(), /skipped\n$/)
  }
})

t.test('keys that leave a prompt decide nothing on a terminal', { skip: !hasPython }, async t => {
  const document = createApiDocument([['GET', '/v1/gates', { group: 'gates', verb: 'list' }]])
  const { url, asked } = await fakeCoordinator(t, ({ path, method }) => {
    if (path === '/v1/openapi.json') return [200, document]
    return method === 'GET' ? [200, { requests: [request('gate_1')], next: null }] : undefined
  })
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
  for (const key of ['\u0003', '\u0004', 'half a reason\u0003']) {
    const { code, out } = await runInTerminal([process.execPath, SHOAL, 'gates', 'watch'], {
      env,
      steps: [
        { wait: '[a/r/s]', type: 'a\r' },
        { wait: 'why?', type: key },
      ],
    })
    t.equal(code, 0)
    t.match(out, 'skipped')
  }
  const once = [process.execPath, SHOAL, 'gates', 'watch', '--once']
  const steps = [{ wait: '[a/r/s]', type: 's\r' }]
  t.equal((await runInTerminal(once, { env, steps })).code, 0, '--once ends after the last one')
  t.strictSame(
    asked.filter(({ method }) => method === 'POST'),
    [],
  )
})

t.test("only other people's requests are listed", async t => {
  const { session, lists, out } = scene([])
  await watchGates(session, answerWith(), true)
  t.match(lists, [{ query: { state: 'pending', others: true } }])
  t.match(out(), 'no request of another person is pending')
})

t.test('a refused decision is reported and the next request follows', async t => {
  const { session, calls, out } = scene(
    [request('gate_2'), request('gate_1')],
    'you cannot decide on your own request',
  )
  await watchGates(session, answerWith('a', '', 'a', ''), true)
  t.equal(calls.length, 2)
  t.match(out(), /you cannot decide on your own request/)
})

t.test('text that moves the cursor or hides is escaped', async t => {
  const { session, out } = scene([request('gate_1', { summary: 'a\u001b[2Jb\u202ec' })])
  await watchGates(session, answerWith('s'), true)
  t.notOk(out().includes('\u001b') || out().includes('\u202e'))
})

t.test('pending requests are only listed when there is no terminal', async t => {
  const { session, calls, out } = scene([request('gate_1')])
  const signal = new AbortController().signal
  await watchGates(session, { ask: undefined, signal }, true)
  t.strictSame(calls, [])
  t.match(out(), /gate_1/)
  await t.rejects(watchGates(session, { ask: undefined, signal }, false), {
    code: 'wrong_usage',
    step: /--once/,
  })
})

t.test('the oldest request is shown, however many are pending', async t => {
  let out = ''
  const pages = new Map<unknown, object>([
    [undefined, { requests: [request('gate_3'), request('gate_2')], next: 'gate_2' }],
    ['gate_2', { requests: [request('gate_1')], next: null }],
  ])
  const session = {
    api: { call: async ({ query }: ApiCall) => pages.get(query?.before) },
    write: (text: string) => {
      out += text
    },
  } as unknown as CliSession
  await watchGates(session, { ask: undefined, signal: new AbortController().signal }, true)
  t.strictSame(out.match(/gate_\d/g), ['gate_1', 'gate_2', 'gate_3'])
})
