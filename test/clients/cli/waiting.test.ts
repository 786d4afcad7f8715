import { mock } from 'node:test'
import t from 'tap'
import { answerCall } from '../../../clients/cli/answer-call.ts'
import { describeFailure } from '../../../clients/cli/describe-failure.ts'
import { followWork, mayTakeLong } from '../../../clients/cli/follow.ts'
import { classifyAnswer, type KnownAnswer } from '../../../clients/cli/known-answer.ts'
import { createProgram } from '../../../clients/cli/program.ts'
import { createProgress, showWhile } from '../../../clients/cli/progress.ts'
import { sendWithKey } from '../../../clients/cli/send-with-key.ts'
import type { OpenSession } from '../../../clients/cli/session.ts'
import { type ErrorCode, ShoalError } from '../../../shared/errors.ts'
import { NOT_TAKEN_UP } from '../../../shared/not-taken-up.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { informingOperation, olderOperation } from '../../support/described-operation.ts'
import { createApiDocument, fakeCoordinator } from '../../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL, shoal } from '../../support/shoal-program.ts'

/** A terminal with a clock that the test advances. */
const terminal = (more: object = {}) => {
  const written: string[] = []
  let tick: (() => void) | undefined
  const progress = createProgress({
    output: { isTTY: true, columns: 40, write: text => written.push(text), ...more },
    env: {},
    repeat: (_ms, next) => {
      tick = next
      return () => {
        tick = undefined
      }
    },
  })
  const ticks = (count: number) => {
    for (let i = 0; i < count; i++) tick?.()
  }
  return { progress, written, ticks, isTicking: () => tick !== undefined }
}

t.test('progress is a late, short line that is cleared at the end', async t => {
  const { progress, written, ticks, isTicking } = terminal()
  progress.show('loading')
  ticks(3)
  t.strictSame(written, [], 'what is short shows nothing')
  ticks(1)
  t.match(written.at(-1), /loading$/)
  progress.show(`loading ${'x'.repeat(80)}`, 50)
  ticks(1)
  t.match(written.at(-1), /\[#{10}\.{10}\] 50 % loading/)
  t.equal(written.at(-1)?.replace('\r\u001b[K', '').length, 39)
  progress.clear()
  t.equal(written.at(-1), '\r\u001b[K')
  t.notOk(isTicking())
  const failed = showWhile(progress, 'x', Promise.reject(new Error('no')))
  await t.rejects(failed, /no/)
  t.notOk(isTicking(), 'also after a failure')
})

t.test('a pipe and a dumb terminal get no progress', async t => {
  const { progress, written, isTicking } = terminal({ isTTY: false })
  progress.show('x')
  t.notOk(isTicking())
  t.strictSame(written, [])
})

const idle = { show: () => {}, clear: () => {} }
const signal = new AbortController().signal
const wait = async () => {}

/** Follows what comes of an answer, when the server answers these one after the other. */
const followAnswer = async (known: KnownAnswer, looks: object[]) => {
  const asked: string[] = []
  const shown: [string, number | null | undefined][] = []
  const api = {
    get: async (path: string) => {
      asked.push(path)
      return looks.length > 1 ? looks.shift() : looks[0]
    },
  } as never
  const progress = { ...idle, show: (text: string, at?: number | null) => shown.push([text, at]) }
  return { end: await followWork({ api, progress }, known, { signal, wait }), asked, shown }
}

const task = (state: string, more: object = {}) => ({
  id: 't1',
  state,
  message: null,
  details: null,
  result: null,
  ...more,
})

const begun: KnownAnswer = { kind: 'begun_task', value: { task_id: 't1' } }

t.test('a task is followed to its end, which sets the exit code', async t => {
  const { end, asked, shown } = await followAnswer(begun, [
    task('submitted'),
    task('working', { message: 'half', details: { progress_percent: 50 } }),
    task('completed', { result: { a: 1 } }),
  ])
  t.match(end, { exit: 0, answer: { state: 'completed', result: { a: 1 } } })
  t.strictSame(asked, Array(3).fill('/v1/tasks/t1'))
  t.strictSame(shown, [
    ['task t1: submitted', null],
    ['task t1: working, half', 50],
  ])
  for (const [state, details, exit] of [
    ['failed', null, 70],
    ['failed', { code: 'cell_unavailable' }, 69],
    ['failed', { code: 'constructor' }, 70],
    ['rejected', null, 77],
    ['canceled', null, 75],
    ['auth-required', null, 75],
    ['input-required', null, 65],
  ] as const)
    t.match((await followAnswer(begun, [task(state, { details })])).end, { exit }, state)
  const again = await followAnswer({ kind: 'task', value: task('working') }, [task('completed')])
  t.match(again.end, { exit: 0 }, 'a task that is shown can be followed as well')
})

t.test('a model is followed until it is loaded; an old failure is ignored', async t => {
  const answer = {
    cell_id: 'c',
    model: 'm',
    state: 'loading',
    command_id: 'cmd_1',
    command_state: 'succeeded',
  }
  const load = (looks: object[], more: object = {}) =>
    followAnswer({ kind: 'model_load', value: { ...answer, ...more } }, looks)
  const cell = (state: string, more: object = {}, presence = 'ready') => ({
    presence,
    engines: [
      { models: ['x'], state: 'ready' },
      { models: ['m'], state, ...more },
    ],
  })
  const loading = cell('loading', { phase: 'downloading', progress_percent: 10 })
  const good = await load([cell('failed'), loading, cell('ready')])
  t.match(good.end, { exit: 0, answer: { cell_id: 'c', model: 'm', state: 'ready' } })
  t.strictSame(good.shown.at(-1), ['m on c: downloading', 10])
  const bad = await load([loading, cell('failed', { reason: 'no memory' })])
  t.match(bad.end, { exit: 69, answer: { state: 'failed', reason: 'no memory' } })
  t.match((await load([cell('failed')])).end, { exit: 69 }, 'not for ever either')
  t.match((await load([cell('loading', {}, 'dead')])).end, { exit: 69 })
  t.equal((await load([{}], { state: 'ready' })).end, undefined)
  const waits = { status: 'pending', request_id: 'r' }
  const pending = classifyAnswer(waits, {
    answers: { kind: 'command' },
    isGated: true,
    mode: undefined,
  })
  t.equal((await followAnswer(pending, [{}])).end, undefined)
})

const command = (state: string, more: object = {}) => ({
  id: 'cmd_1',
  verb: 'ping',
  state,
  result: null,
  progress: null,
  ...more,
})

const sent: KnownAnswer = { kind: 'command', value: command('sent') }

t.test('a command to a cell is followed to its outcome, which sets the exit code', async t => {
  const { end, asked, shown } = await followAnswer(sent, [
    command('executing', { progress: { percent: 40, message: null } }),
    command('succeeded', { result: { moved: true } }),
  ])
  t.match(end, { exit: 0, answer: { state: 'succeeded', result: { moved: true } } })
  t.strictSame(asked, Array(2).fill('/v1/commands/cmd_1'))
  t.strictSame(shown, [['command cmd_1: executing', 40]])
  const ends = ['failed', 'rejected', 'expired', 'unknown'].map(async state => {
    const followed = await followAnswer(sent, [command(state)])
    return followed.end?.exit
  })
  t.strictSame(await Promise.all(ends), [70, 77, 69, 69])
})

t.test('the result of a command that was waited for is no verdict on it', async t => {
  const before = process.exitCode
  t.teardown(() => {
    process.exitCode = before
  })
  const api = {
    call: async () => command('sent'),
    get: async () => command('succeeded', { result: { moved: true } }),
  }
  const session = {
    ...{ api, format: 'json', progress: idle, settings: { url: 'http://127.0.0.1' } },
    ...{ print: () => {}, hint: () => {} },
  }
  const answers = { kind: 'command' as const }
  const success = [{ field: 'state', codes: { sent: 0, succeeded: 0, failed: 70 } }]
  const call = { method: 'POST', path: '/v1/cells/c/commands' }
  const operation = { ...informingOperation, answers, success }
  await answerCall(session as unknown as OpenSession, call, operation, true)
  t.equal(process.exitCode, 0)
})

t.test('an unload ends with its command, not with a loaded model', async t => {
  const answer = { cell_id: 'c', model: 'm', state: 'cold', command_id: 'cmd_1' }
  const unload = (command_state: string, looks: object[]) =>
    followAnswer({ kind: 'model_command', value: { ...answer, command_state } }, looks)
  t.equal((await unload('succeeded', [{}])).end, undefined)
  const late = await unload('sent', [command('executing'), command('failed')])
  t.match(late.end, { exit: 70 })
  t.strictSame(late.asked, Array(2).fill('/v1/commands/cmd_1'))
})

t.test('a command whose outcome is open is printed with the next step', async t => {
  const run = async (
    answer: object,
    format: 'text' | 'json',
    facts: object = { answers: { kind: 'command' } },
  ) => {
    const [printed, hints]: [unknown[], string[]] = [[], []]
    const session = {
      format,
      progress: idle,
      settings: { url: 'http://127.0.0.1' },
      api: { call: async () => answer },
      print: (shown: unknown) => printed.push(shown),
      hint: (text: string) => hints.push(text),
    }
    const call = { method: 'POST', path: '/v1/cells/c/commands' }
    const operation = { ...informingOperation, ...facts }
    await answerCall(session as unknown as OpenSession, call, operation, false)
    t.strictSame(printed, [answer])
    return hints
  }
  t.strictSame(await run(command('sent'), 'text'), [
    'shoal commands show cmd_1 --wait waits for the outcome',
  ])
  t.strictSame(await run(command('succeeded', { mode: 'dry' }), 'text'), [
    'mode dry: the cell only validates the command; --mode live carries it out',
  ])
  t.strictSame(await run(command('sent'), 'json'), [], 'a script reads the id')
  t.strictSame(await run(command('succeeded'), 'text'), [])
  const begun = { task_id: 't1' }
  t.strictSame(await run(begun, 'text', { mode: 'task' }), [
    'shoal tasks show t1 --wait waits for the outcome',
  ])
  t.strictSame(await run(begun, 'json', { mode: 'task' }), [])
  t.strictSame(await run(begun, 'text', {}), [], 'an answer that names a task is not one')
})

/** Runs a call of a path template whose answer is given, while the cell `c` has this presence. */
const runCall = async (path: string, answer: object, presence = 'ready') => {
  const hints: string[] = []
  const printed: unknown[] = []
  const session = {
    format: 'text',
    progress: idle,
    settings: { url: 'http://127.0.0.1' },
    api: { call: async () => answer, get: async () => ({ name: 'cell-1', presence }) },
    print: (shown: unknown) => printed.push(shown),
    hint: (text: string) => hints.push(text),
  }
  const operation = olderOperation('POST', path)
  const call = { method: 'POST', path, callKey: 'key-1' }
  const failure = await answerCall(session as unknown as OpenSession, call, operation, false).then(
    () => undefined,
    (error: { code: string; message: string; step: string }) => error,
  )
  t.strictSame(printed, [answer], 'the answer is printed in any case')
  return { failure, hints }
}

t.test('a device command without a success is an error that says what to do', async t => {
  const stop = (state: string) => command(state, { verb: 'stop', cell_id: 'c', expires_at: 'T' })
  const path = '/v1/devices/{device_id}/commands'
  for (const [state, presence, code, says] of [
    ['queued', 'dead', 'cell_unavailable', /^NOT confirmed by cell-1, which is not connected/],
    ['sent', 'ready', 'request_timeout', /^NOT confirmed by cell-1: stop is sent$/],
    ['expired', 'dead', 'cell_unavailable', /stop is expired$/],
    ['failed', 'ready', 'internal', /stop is failed$/],
  ] as const) {
    const { failure } = await runCall(path, stop(state), presence)
    t.match(failure, { code, message: says, step: /use its own emergency stop/ }, state)
  }
  const { failure } = await runCall('/v1/devices/{device_id}/stop', stop('queued'), 'dead')
  t.match(
    failure?.step,
    /^the cell gets it if it connects before T\n[\s\S]*commands show cmd_1 --wait/,
  )
  t.equal((await runCall(path, stop('succeeded'))).failure, undefined)
  const move = (state: string, more: object = {}) =>
    command(state, { verb: 'move-to', cell_id: 'c', device_id: 'dev_1', ...more })
  const begun = (await runCall(path, move('executing'), 'dead')).failure
  t.match(begun?.step, /^the device may still move/, 'the cell has the command already')
  const stopped = (await runCall(path, move('unknown', { reason: 'estopped' }))).failure
  t.match(stopped?.step, /commands show cmd_1 shows it\nshoal devices show dev_1/)
  const skill = { plan: null, outcome: stop('queued') }
  t.match((await runCall('/v1/skills/device-command', skill)).failure, { code: 'request_timeout' })
  t.equal(
    (await runCall('/v1/skills/device-command', { plan: {}, outcome: null })).failure,
    undefined,
  )
})

t.test('an e-stop that a cell has not confirmed is an error that names the cell', async t => {
  const missing = { cell_id: 'c', name: 'cell-1', is_connected: false, is_supported: true }
  const estop = (cells: object[], released_at: string | null = null) => ({
    estop_id: 'est_1',
    released_at,
    cells: { asked: 1, confirmed: 1 - cells.length, missing: cells },
  })
  const { failure } = await runCall('/v1/estop', estop([missing]))
  t.match(failure, {
    code: 'cell_unavailable',
    message: 'the e-stop is NOT confirmed by cell-1 (not connected)',
    step: /use its own emergency stop[\s\S]*shoal devices estops/,
  })
  t.match((await runCall('/v1/estop/release', estop([missing], 'T'))).failure, {
    message: /^the release is NOT confirmed/,
    step: /stay stopped/,
  })
  t.equal((await runCall('/v1/estop', estop([]))).failure, undefined)
})

t.test(
  'an unexpected answer is printed, and is an error where a device may still move',
  async t => {
    const unreadable = { code: 'internal', message: /^NOT confirmed/, step: /own emergency stop/ }
    for (const [path, answer] of [
      ['/v1/estop', { estop_id: 'est_1' }],
      ['/v1/estop', { released_at: null, cells: { missing: {} } }],
      ['/v1/devices/{device_id}/stop', { id: 7, state: 'succeeded' }],
      ['/v1/skills/ros2-command', { outcome: { state: 'sent' } }],
      ['/v1/skills/ros2-command', { outcome: 'sent' }],
    ] as const)
      t.match((await runCall(path, answer)).failure, unreadable, JSON.stringify(answer))
    t.equal((await runCall('/v1/skills/ros2-command', { outcome: null })).failure, undefined)
    for (const path of [
      '/v1/cells/{cell_id}/commands',
      '/v1/cells/{cell_id}/models/{model}/load',
      '/v1/cells/{cell_id}/models/{model}/unload',
      '/v1/catalogue',
      '/v1/catalogue/{model}/pull',
      '/v1/gates/{gate_id}/requests',
    ]) {
      const none = classifyAnswer({ cells: null }, olderOperation('POST', path))
      t.strictSame(none, { kind: 'other' }, path)
    }
    const begun = classifyAnswer({ id: 't1' }, { ...informingOperation, mode: 'task' })
    t.strictSame(begun, { kind: 'other' })
  },
)

t.test('the idempotency key is printed only when the outcome of its call is unknown', async t => {
  t.strictSame((await runCall('/v1/x', {})).hints, [])
  const send = async (code: ErrorCode) => {
    const hints: string[] = []
    const session = {
      format: 'text',
      progress: idle,
      settings: { url: 'http://127.0.0.1' },
      hint: (text: string) => hints.push(text),
    } as unknown as OpenSession
    const call = { method: 'POST', path: '/v1/x', callKey: 'key-1' }
    const fail = async () => {
      throw new ShoalError(code, 'no')
    }
    await t.rejects(sendWithKey(session, call, fail, false), { code })
    return hints
  }
  t.match(await send('coordinator_unavailable'), [/^idempotency key key-1;/])
  t.match(await send('request_timeout'), [/^idempotency key key-1;/])
  t.strictSame(await send('conflict'), [], 'a refused call has done nothing')
})

t.test('the command line warns while it waits for the answer to a stop', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const warn = async (path: string) => {
    const { isEmergency } = olderOperation('POST', path)
    const hints: string[] = []
    const session = {
      format: 'text',
      progress: idle,
      settings: { url: 'http://127.0.0.1' },
      hint: (text: string) => hints.push(text),
    } as unknown as OpenSession
    const answer = Promise.withResolvers<object>()
    const call = { method: 'POST', path }
    const sent = sendWithKey(session, call, () => answer.promise, isEmergency)
    mock.timers.tick(1999)
    t.strictSame(hints, [], 'most answers come before')
    mock.timers.tick(1)
    answer.resolve({})
    await sent
    return hints
  }
  for (const path of ['/v1/devices/{device_id}/stop', '/v1/devices/{device_id}/land', '/v1/estop'])
    t.match(await warn(path), [/^NOT confirmed yet: the device may still move/], path)
  t.strictSame(await warn('/v1/estop/release'), [])
})

t.test('an interrupted wait prints the command to check later', async t => {
  const left = AbortSignal.abort()
  const api = { get: async () => task('working') } as never
  const options = { signal: left, wait }
  await t.rejects(followWork({ api, progress: idle }, begun, options), {
    code: 'client_closed',
    message: 'task t1 is still running',
    step: 'check later with: shoal tasks show t1 --wait',
  })
})

t.test('a coordinator that is lost during a wait leaves the command to check later', async t => {
  const lost = new ShoalError('coordinator_unavailable', 'no answer from http://a')
  const api = { get: () => Promise.reject(lost) } as never
  const error = await followWork({ api, progress: idle }, begun, { signal, wait }).catch(e => e)
  const source = { url: 'http://a', urlFrom: 'SHOAL_URL' }
  const command = createProgram()
  t.strictSame(describeFailure(error, { format: 'text', command, ...source }).text.split('\n'), [
    'shoal: no answer from http://a; task t1 may still be running (coordinator_unavailable)',
    'the address is from SHOAL_URL; start it with npm start, or set SHOAL_URL or --url to its address',
    'check later with: shoal tasks show t1 --wait',
    '',
  ])
})

t.test('an added model is waited for until its cells know whether it can be loaded', async t => {
  let slowMs = 0
  let nowMs = () => 0
  const follow = async (...looks: object[][]) => {
    let look = 0
    const get = async () => ({ id: 'm', cells: looks[Math.min(look++, looks.length - 1)] })
    const options = { signal, wait, nowMs }
    const answer: KnownAnswer = { kind: 'model_add', value: { id: 'm', origin: 'added' } }
    const end = await followWork({ api: { get } as never, progress: idle }, answer, options)
    return { ...end, looks: look }
  }
  const cell = (
    state: string | null,
    reason: string | null = null,
    phase: string | null = null,
  ) => ({
    ...{ cell_id: 'c', state, phase, reason },
  })
  const absent = cell(null, NOT_TAKEN_UP)
  const loading = cell('loading', null, 'loading')
  const ready = await follow([absent], [loading], [cell('ready')])
  t.match(ready, { exit: 0, hint: undefined, looks: 3, answer: { cells: [{ state: 'ready' }] } })
  const failed = await follow([cell('ready'), cell('failed', '/nope: no such file')])
  t.match(failed, { exit: 69, answer: { cells: [{}, { state: 'failed' }] } })
  t.match(
    failed.hint,
    /on 1 of 2 cells: \/nope: no such file\nshoal models show m .*models remove m/,
  )
  const fetched = await follow([cell('loading', null, 'downloading')])
  t.match(fetched, { exit: 0, looks: 1, hint: /^shoal models show m --watch/ })
  t.match(await follow([cell(null, 'the cell is not connected')]), { exit: 0, looks: 1 })
  t.match(await follow([cell('cold')]), { exit: 0, looks: 3 }, 'its first request loads it')
  t.match(await follow([absent]), { exit: 0, looks: 7 }, 'the wait has an end')
  nowMs = () => (slowMs += 5000)
  t.match(await follow([cell('cold')]), { exit: 0, looks: 2 }, 'slow looks count with their time')
  t.match(await follow([absent]), { exit: 0, looks: 3 }, 'also to the end')
})

t.test('a gate request of an older coordinator has its next step', async t => {
  const pending = { status: 'pending', request_id: 'gate_1', plan_hash: 'h' }
  for (const path of ['/v1/skills/hitl-gate', '/v1/sessions/{session_id}/check']) {
    const { hints } = await runCall(path, pending)
    t.strictSame(hints, ['another person approves it with: shoal gates approve gate_1'], path)
  }
  const approved = { id: 'gate_1', status: 'approved', state: 'approved', subject: 'shoal:plan' }
  const path = '/v1/gates/requests/{request_id}/approve'
  const { hints } = await runCall(path, { ...approved, requester_id: 'ada' })
  t.strictSame(hints, ['approved: ada carries it out by repeating the same call'])
})

t.test('only commands that may take long have --wait', async t => {
  const canTakeLong = (method: string, path: string, mode?: string) =>
    mayTakeLong({ ...olderOperation(method, path), mode })
  t.ok(canTakeLong('POST', '/v1/skills/x', 'task'))
  t.ok(canTakeLong('GET', '/v1/tasks/{task_id}'))
  t.ok(canTakeLong('POST', '/v1/cells/{cell_id}/commands'))
  t.ok(canTakeLong('GET', '/v1/commands/{command_id}'))
  t.ok(canTakeLong('POST', '/v1/cells/{cell_id}/models/{model}/pin'))
  t.notOk(canTakeLong('POST', '/v1/tokens'))
  t.notOk(canTakeLong('GET', '/v1/tasks'))
})

const slow = createApiDocument([
  ['POST', '/v1/skills/slow', { group: 'skills', verb: 'run slow' }, { 'x-shoal-mode': 'task' }],
  ['GET', '/v1/tasks/{task_id}', { group: 'tasks', verb: 'show' }],
])

t.test('--wait accepts an immediate answer, and does not wait for approvals', async t => {
  const env = { HOME: await temporaryFolder(t), SHOAL_KEY: 'k' }
  const document = createApiDocument([
    ['GET', '/v1/cells', { group: 'cells', verb: 'list' }],
    ['POST', '/v1/gates/{gate_id}/requests', { group: 'gates', verb: 'request' }],
  ])
  const asked = { id: 'gate_1', status: 'pending', plan_hash: 'h' }
  const { url } = await fakeCoordinator(t, ({ path }) => {
    if (path === '/v1/openapi.json') return [200, document]
    return path === '/v1/cells' ? [200, { cells: [], status: 'pending' }] : [200, asked]
  })
  const run = (...args: string[]) => shoal({ ...env, SHOAL_URL: url }, args)
  t.match(await run('cells', 'list', '--wait'), { code: 0, err: '' })
  t.notMatch((await run('cells', 'list', '--help')).out, '--wait', 'it is offered where it helps')
  t.match(await run('gates', 'request', 'gate.x'), { code: 0, err: /shoal gates approve/ })
  t.match(await run('gates', 'request', 'gate.x', '--wait'), {
    code: 75,
    out: /gate_1/,
    err: /waits for approval.*\(forbidden\)\nshoal gates show gate_1 shows/,
  })
  const told = await run('gates', 'request', 'gate.x', '--wait', '--format', 'json')
  t.equal(told.code, 75)
  t.match(JSON.parse(told.err).error, { code: 'forbidden', reason: 'approval_pending' })
})

t.test('the program waits for a task', async t => {
  let looks = 0
  let rest = 1
  const { url, asked } = await fakeCoordinator(t, ({ method, path }) => {
    if (path === '/v1/openapi.json') return [200, slow]
    if (method === 'POST') return [202, { task_id: 't1' }]
    looks += 1
    return [200, looks > rest ? task('completed', { result: { a: 1 } }) : task('working')]
  })
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: url }
  const json = ['--format', 'json']
  const begun = await shoal(env, ['skill', 'run', 'slow', ...json])
  t.strictSame([begun.code, JSON.parse(begun.out)], [0, { task_id: 't1' }])
  t.equal(asked.filter(({ path }) => path === '/v1/tasks/t1').length, 0)
  const done = await shoal(env, ['skill', 'run', 'slow', '--wait', ...json])
  t.match(done, { code: 0, err: '' }, 'a pipe sees no progress')
  t.match(JSON.parse(done.out), { state: 'completed', result: { a: 1 } })

  t.test('shows a line of progress on a terminal until Ctrl-C', { skip: !hasPython }, async t => {
    rest = Number.POSITIVE_INFINITY
    const argv = [process.execPath, SHOAL, 'skill', 'run', 'slow', '--wait']
    const steps = [{ wait: 'task t1: working', type: '\u0003' }]
    const left = await runInTerminal(argv, { env: { ...env, NO_COLOR: '1' }, steps })
    t.equal(left.code, 75)
    t.match(left.out, /task t1 is still running.*\r\ncheck later with: shoal tasks show t1 --wait/)
    t.notMatch(left.out, '\u001b[3', 'no colours')
  })
})

t.test('a completed task exits as its result says', async t => {
  const before = process.exitCode
  t.teardown(() => {
    process.exitCode = before
  })
  const exit = { field: 'outcome', codes: { complete: 0, failed: 69 } }
  const run = async (state: string, result: object | null) => {
    const session = {
      format: 'text',
      progress: idle,
      settings: { url: 'http://127.0.0.1' },
      api: { call: async () => ({ task_id: 't1' }), get: async () => task(state, { result }) },
      print: () => {},
      hint: () => {},
    }
    const call = { method: 'POST', path: '/a2a/discovery/run' }
    const operation = { ...informingOperation, success: [exit], mode: 'task' }
    await answerCall(session as unknown as OpenSession, call, operation, true)
    return process.exitCode
  }
  t.equal(await run('completed', { outcome: 'failed' }), 69)
  t.equal(await run('completed', { outcome: 'complete' }), 0)
  t.equal(await run('failed', null), 70)
})
