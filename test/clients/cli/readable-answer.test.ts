import fc from 'fast-check'
import t from 'tap'
import { answerCall } from '../../../clients/cli/answer-call.ts'
import { readableAnswer } from '../../../clients/cli/readable-answer.ts'
import type { OpenSession } from '../../../clients/cli/session.ts'
import { formatOutput, type PrintableRows } from '../../../shared/print.ts'
import { informingOperation } from '../../support/described-operation.ts'

const plan = {
  cells: [
    {
      cell_id: 'cell_1',
      params: { skew_ms: 200, moves: [{ delay_s: 0.16667, device_id: 'dev_1', to: [4.5, 0] }] },
    },
  ],
  operations: [{ lat: 47.3769012, op: 'go' }],
  units: [{ device_id: 'dev_1', name: 'rover-1' }],
}
const checks = [{ limit: 20, name: 'battery_percent', observed: 87.25, verdict: 'pass' }]

const request = (more: object = {}) => ({
  id: 'gate_1',
  state: 'pending',
  status: 'pending',
  requester_id: 'bea',
  subject: 'shoal:device:dev_1:go-to',
  plan_hash: 'abc',
  plan_text: JSON.stringify(plan),
  evidence_text: JSON.stringify({ checks }),
  ...more,
})

const shown = (answer: object): string =>
  formatOutput(readableAnswer(answer) as PrintableRows, 'text')

t.test('an approver reads plan and checks as tables, with exact numbers and names', async t => {
  const text = shown(request())
  t.match(text, /\nplan\.operations:\nop +lat\ngo +47\.3769012\n/)
  t.match(text, /\nplan\.cells:\ncell_id +params\.skew_ms\ncell_1 +200\n/)
  t.match(text, /\ncell_1 +rover-1 +0\.16667 +dev_1 +4\.5,0\n/)
  t.match(
    text,
    /\nevidence\.checks:\nname +verdict +observed +limit\nbattery_percent +pass +87\.25 +20\n/,
  )
  t.notMatch(text, /[{}]/)
})

t.test('an approver sees every member of every operation, whatever the others have', async t => {
  const fields = { command: 178, param1: 1 }
  const operations = [
    { message: 'COMMAND_LONG', fields },
    { message: 'COMMAND_INT', fields: { command: 192, x: 473_769_012, y: 85_417_000 } },
  ]
  const text = shown(request({ plan_text: JSON.stringify({ operations }) }))
  t.match(text, /COMMAND_INT +192 +- +473769012 +85417000\n/)

  const limits = [{ limit: 500, requires: 'at most 1' }]
  t.match(shown(request({ plan_text: JSON.stringify({ limits }) })), /500/)
  t.match(shown({ operations: [{ type: 'object', properties: { speed: 77 } }] }), /77/)

  const { tree } = fc.letrec(tie => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constant('leaf'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'a.b', 'checks', 'constructor'), tie('tree'), {
        maxKeys: 3,
      }),
    ),
  }))
  const check = (plan: unknown) => {
    let leaves = 1000
    const numbered = JSON.stringify(plan).replaceAll('"leaf"', () => `${++leaves}`)
    const text = shown({ subject: 'shoal:x', plan_text: numbered })
    for (let leaf = 1001; leaf <= leaves; leaf++) if (!text.includes(`${leaf}`)) return false
    return true
  }
  fc.assert(fc.property(fc.record({ plan: tree }), check), { numRuns: 2000 })
})

t.test('different plans look different to an approver', async t => {
  const texts = [
    { a: { b: 1 } },
    { 'a.b': 1 },
    { a: { b: '1' } },
    { a: [{ b: 1 }] },
    { a: { b: 'x,y' } },
    { a: { b: ['x', 'y'] } },
    { a: { b: '' } },
    { a: { b: null } },
    { 'a  b': 1 },
    { a: '2026-01-01T00:00:00.500Z' },
    { a: '2026-01-01T00:00:00Z' },
  ].map(plan => shown(request({ plan_text: JSON.stringify(plan) })))
  t.equal(new Set(texts).size, texts.length, texts.join('\n'))
})

t.test('the plan of another requester stays the text that is approved', async t => {
  t.ok(shown(request({ subject: 'release' })).includes(JSON.stringify(plan)))
  const hidden = '{"op":"a\\u{202e}b"}'
  t.ok(shown(request({ plan_text: hidden })).includes(hidden), 'what is no JSON is not parsed')
  const forged = { operations: [{ op: 'off  pass', topic: 'a' }] }
  t.match(shown(request({ plan_text: JSON.stringify(forged) })), /\n"off {2}pass" +a\n/)
})

t.test('a list of requests leaves the plans to the single request', async t => {
  const text = shown({ requests: [request(), request()], next: null })
  t.match(text, /gate_1 +pending/)
  t.notMatch(text, /plan_text|evidence_text/)
})

t.test('the parameters of a command are one line', async t => {
  const params = {
    type: 'object',
    properties: {
      x_m: { type: 'number', minimum: -5, maximum: 5 },
      speed_m_s: { type: 'number', minimum: 0.05, default: 0.5 },
      mode: { enum: ['fast', 'slow'] },
      file: { type: 'string' },
    },
    required: ['x_m', 'file'],
  }
  t.match(
    shown({ commands: [{ command: 'go', params }] }),
    ['x_m=-5..5 [speed_m_s=0.05.. (0.5)] [mode=fast|slow] file=text'].join(''),
  )
})

t.test('a request shows one state, which is blocked when its rules have changed', async t => {
  const states = shown({
    requests: [
      request(),
      request({ id: 'gate_2', status: 'blocked' }),
      request({ state: 'expired' }),
    ],
  })
  t.match(states, /^id +state +.*requester_id/)
  t.match(states, /\ngate_1 +pending .*\ngate_2 +blocked .*\ngate_1 +expired /)
  t.match(shown(request({ subject: 'mine', status: 'blocked' })), /^state +blocked$/m)
  t.notMatch(shown(request()), /^status/m)
  t.match(shown({ status: 'blocked', state: 'consumed', plan_hash: 'abc' }), /^status +blocked$/m)
})

t.test('a list of requests names the requesters, and one request has their id too', async t => {
  const named = { requester: 'Bea', ...request() }
  const erased = { requester: null, ...request({ id: 'gate_2' }) }
  const list = shown({ requests: [named, erased] })
  t.match(list, /^id +state +requester +/)
  t.match(list, /\ngate_1 +pending +Bea .*\ngate_2 +pending +bea /)
  t.notMatch(list, 'requester_id')
  t.match(shown(named), /^requester +Bea$/m)
  t.match(shown(named), /^requester_id +bea$/m)
})

t.test('a request is followed by the line to approve it, and then by the way on', async t => {
  const hintsOf = async (method: string, answer: object) => {
    const hints: string[] = []
    const session = {
      format: 'text',
      progress: { show: () => {}, clear: () => {} },
      settings: { url: 'http://127.0.0.1' },
      api: { call: async () => answer },
      print: () => {},
      hint: (text: string) => hints.push(text),
    }
    const operation = { ...informingOperation, answers: { kind: 'gate_request' as const } }
    await answerCall(session as unknown as OpenSession, { method, path: '/' }, operation, false)
    return hints
  }
  t.strictSame(await hintsOf('GET', request({ votes: [] })), [
    'another person approves it with: shoal gates approve gate_1\n' +
      'or rejects it with: shoal gates reject gate_1 --reason …',
  ])
  t.strictSame(await hintsOf('POST', { ...request(), request_id: 'gate_1' }), [
    'another person approves it with: shoal gates approve gate_1',
  ])
  t.strictSame(
    await hintsOf('POST', { ...request(), hint: 'nobody can approve it' }),
    ['nobody can approve it'],
    'no line that nobody could use',
  )
  t.strictSame(await hintsOf('POST', request({ state: 'approved', status: 'approved' })), [
    'approved: bea carries it out by repeating the same call',
  ])
  const approved = { state: 'approved', status: 'approved' }
  t.strictSame(await hintsOf('POST', request({ ...approved, plan: { action: 'key.issue' } })), [
    'approved: bea reveals the key with: shoal keys reveal gate_1',
  ])
})
