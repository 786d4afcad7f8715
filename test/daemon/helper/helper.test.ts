import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { buildEnvironment, PASSED_ON } from '../../../daemon/helper/environment.ts'
import { Helper } from '../../../daemon/helper/helper.ts'
import { createSpawner, type SpawnHelper } from '../../../daemon/helper/helper-child.ts'
import { HELPER_CLASSES } from '../../../daemon/helper/helper-class.ts'
import { Helpers } from '../../../daemon/helper/helpers.ts'
import type { HelperCall } from '../../../daemon/helper/job.ts'
import { type ParsedFrame, parseFrame } from '../../../daemon/helper/parse-frame.ts'
import {
  type HelperOrder,
  MAX_FRAME_BYTES,
  MAX_ITEM_BYTES,
  WINDOW_BYTES,
} from '../../../daemon/helper/protocol.ts'
import { waitUntil } from '../../support/wait-until.ts'

const SUPPORT = resolve(import.meta.dirname, '..', '..', 'support')
const CHILD = resolve(SUPPORT, 'helper-child.ts')
const BROKEN = resolve(SUPPORT, 'broken-helper.ts')

/** Tests do not wait for a process that was told to end. */
const QUICK = { cancelSeconds: 0.2 }

/** The real helper process, with functions that misbehave. */
const helperFor = (t: Test, idleSeconds = 60): Helper => {
  const env = { ...process.env, SHOAL_COORDINATOR_JOIN_TOKEN: 'secret', AWS_SECRET_KEY: 'secret' }
  const helper = new Helper({ spawn: createSpawner(env, CHILD)('host'), ...QUICK, idleSeconds })
  t.teardown(() => helper.stop())
  return helper
}

const call = (name: string, input: unknown = null, deadlineSeconds = 60): HelperCall => ({
  module: 'test',
  function: name,
  input,
  deadlineSeconds,
})

/** True when the process is running; a zombie does not count. */
const runs = (pid: number): boolean => {
  if (!existsSync(`/proc/${pid}/stat`)) return false
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const waitFor = (isSo: () => boolean): Promise<boolean> =>
  waitUntil('the condition of the test', isSo)

t.test('the helper starts with the first call and returns the result of the function', async t => {
  const helper = helperFor(t)
  t.equal(helper.pid, undefined)
  t.same(await helper.call(call('echo', { a: [1, null, 'x'] })), { a: [1, null, 'x'] })
  t.equal(await helper.call(call('nothing')), null)
  t.ok(runs(helper.pid ?? 0))
})

t.test('the helper has a lower priority than the daemon', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  t.ok(getPriority(helper.pid) > getPriority())
})

t.test('each class gets only the listed environment', async t => {
  const seen = (await helperFor(t).call(call('environment'))) as Record<string, string>
  t.equal(seen.PATH, process.env.PATH)
  const secrets = {
    SHOAL_COORDINATOR_JOIN_TOKEN: 'a',
    NODE_OPTIONS: '--x',
    LD_PRELOAD: 'y',
    EMPTY: '',
  }
  const all = Object.fromEntries(PASSED_ON.map(({ name }) => [name, `of ${name}`]))
  const names = HELPER_CLASSES.map(each =>
    Object.keys(buildEnvironment(each, { ...secrets, ...all })).toSorted(),
  )
  const everywhere = [
    'DBUS_SYSTEM_BUS_ADDRESS',
    'HOME',
    'LANG',
    'LC_ALL',
    'PATH',
    'SystemRoot',
    'TZ',
  ]
  const host = ['DOCKER_HOST', 'DOCKER_SOCKET', 'SHELL', 'XDG_RUNTIME_DIR']
  const lan = ['KUBECONFIG', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']
  t.strictSame(names, [
    [...everywhere, ...host].toSorted(),
    [...everywhere, ...lan].toSorted(),
    [...everywhere, 'DBUS_SESSION_BUS_ADDRESS'].toSorted(),
  ])
  t.match(buildEnvironment('host', all), { HOME: '/', LANG: 'C.UTF-8' })
  t.match(buildEnvironment('lan', all), { HOME: 'of HOME' })
})

t.test('only functions in the table can be called', async t => {
  const helper = helperFor(t)
  for (const name of ['unknown', 'constructor', '__proto__', 'toString'])
    await t.rejects(helper.call(call(name)), { kind: 'failed', message: /has no function/ })
  for (const module of ['host', 'node:fs', '__proto__', 'constructor'])
    await t.rejects(helper.call({ ...call('echo'), module }), {
      kind: 'failed',
      message: /has no function/,
    })
})

t.test('a call that throws or returns too much fails alone', async t => {
  const helper = helperFor(t)
  await t.rejects(helper.call(call('fail')), { kind: 'failed', message: 'no such thing' })
  const { pid } = helper
  await t.rejects(helper.call(call('large')), { kind: 'too_large', message: /2097154 bytes/ })
  t.equal(await helper.call(call('echo', 1)), 1)
  t.equal(helper.pid, pid, 'in the same process')
})

t.test('a process that sends a message without end is killed, and the next one serves', async t => {
  const mains = [BROKEN, BROKEN, CHILD]
  const pids: number[] = []
  const helper = new Helper({
    spawn: listener => {
      const child = createSpawner(process.env, mains.shift())('host')(listener)
      pids.push(child.pid ?? 0)
      return child
    },
  })
  t.teardown(() => helper.stop())
  await t.rejects(helper.call(call('echo')), {
    kind: 'died',
    message: `the helper sent a message of more than ${MAX_FRAME_BYTES} bytes`,
  })
  t.equal(await helper.call(call('echo', 1)), 1)
  await waitFor(() => !pids.slice(0, 2).some(runs))
})

t.test('a malformed message kills the process, and fails the call that sends it', async t => {
  const malformed = [
    '',
    'null',
    '{"type":"whatever","id":0}',
    '{"type":"end"}',
    '{"type":"end","id":"0"}',
    '{"type":"item","id":0}',
    '{"type":"item","id":0,"json":5}',
    '{"type":"item","id":0,"json":""}',
    '{"type":"item","id":0,"json":"{"}',
    '{"type":"progress","id":0,"progress":{"done":"1"}}',
    '{"type":"error","id":0}',
    '{"type":"error","id":0,"kind":"hung","reason":"x"}',
  ]
  t.strictSame(
    malformed.filter(line => parseFrame(line) !== undefined),
    [],
  )
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const { pid = 0 } = helper
  await t.rejects(helper.call(call('sendLine', '{"type":"item","id":1}')), {
    kind: 'died',
    message: 'the helper sent a malformed message',
  })
  await waitFor(() => !runs(pid))
  t.equal(await helper.call(call('echo', 1)), 1)
})

t.test('each item takes credit, however small it is', t => {
  t.match(parseFrame('{"type":"item","id":0,"json":"1"}'), { value: 1, bytes: 33 })
  t.end()
})

t.test('the largest item fits into a message, however it is written', async t => {
  const helper = helperFor(t)
  for (const text of ['"'.repeat(MAX_ITEM_BYTES / 2 - 1), '\n'.repeat(MAX_ITEM_BYTES / 2 - 1)])
    t.equal(await helper.call(call('echo', text)), text)
})

for (const name of ['wait', 'block'])
  t.test(`a hung call (${name}) is ended, and the other calls are answered`, async t => {
    const helper = helperFor(t)
    await helper.call(call('echo'))
    const { pid = 0 } = helper
    const hanging = helper.call(call(name, null, 1))
    const others = [1, 2, 3, 4, 5, 6].map(n => helper.call(call('slowEcho', n)))
    await t.rejects(hanging, { kind: 'hung', message: /did not finish within 1 s/ })
    t.strictSame(await Promise.all(others), [1, 2, 3, 4, 5, 6])
    await waitFor(() => !runs(pid))
    await helper.call(call('echo'))
    t.not(helper.pid, pid)
  })

t.test('the blocking call is identified, even when another call times out first', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const blocking = helper.call(call('block', null, 2))
  const beside = helper.call(call('slowEcho', 'x', 1))
  const behind = helper.call(call('echo', 'y'))
  await t.rejects(beside, { kind: 'hung', message: /within/ })
  await t.rejects(blocking, { kind: 'hung', message: /within/ })
  t.equal(await behind, 'y')
})

t.test('kill -9 during calls repeats each call once', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const calls = [1, 2, 3].map(n => helper.call(call('slowEcho', n)))
  process.kill(helper.pid ?? 0, 'SIGKILL')
  t.strictSame(await Promise.all(calls), [1, 2, 3])
})

t.test('a call that always ends the process fails without affecting others', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const poison = helper.call(call('exit'))
  const others = [1, 2, 3].map(n => helper.call(call('slowEcho', n)))
  await t.rejects(poison, { kind: 'died', message: /ended with code 3/ })
  t.strictSame(await Promise.all(others), [1, 2, 3])
})

t.test('calls beyond the capacity of the helper are refused', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const asked = Array.from({ length: 50 }, (_, n) => helper.call(call('slowEcho', n)))
  const ends = await Promise.allSettled(asked)
  const refused = ends.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 50 - 32 - 4)
  for (const each of refused) t.match(each, { reason: { kind: 'busy' } })
})

t.test('a helper that cannot be started fails its calls, and the next call retries', async t => {
  const spawn = createSpawner(process.env, '/nowhere/at-all.ts')('host')
  const helper = new Helper({ spawn })
  t.teardown(() => helper.stop())
  await t.rejects(helper.call(call('echo')), { kind: 'died', message: /ended with code 1/ })
  await t.rejects(helper.call(call('echo')), { kind: 'died', message: /code 1/ })
})

t.test('a failed process start does not crash the daemon', async t => {
  let refuses = false
  const real = createSpawner(process.env, CHILD)('host')
  const helper = new Helper({
    spawn: listener => {
      if (refuses) throw new Error('spawn ENOMEM')
      return real(listener)
    },
  })
  t.teardown(() => helper.stop())
  await helper.call(call('echo'))
  refuses = true
  const running = helper.call(call('slowEcho'))
  process.kill(helper.pid ?? 0, 'SIGKILL')
  await t.rejects(running, { kind: 'died', message: /could not be started: spawn ENOMEM/ })
  refuses = false
  t.equal(await helper.call(call('echo', 1)), 1)
})

t.test('an idle helper exits and restarts for the next call', async t => {
  const helper = helperFor(t, 0.05)
  await helper.call(call('echo'))
  await waitFor(() => helper.pid === undefined)
  t.equal(await helper.call(call('echo', 'again')), 'again')
})

t.test('programs started by a helper end with it', async t => {
  const helper = helperFor(t)
  const pid = Number(await helper.call(call('child')))
  t.ok(runs(pid))
  helper.stop()
  await waitFor(() => !runs(pid))
  await t.rejects(helper.call(call('echo')), { kind: 'stopped', message: /stopping/ })
})

t.test('running and waiting calls end with the daemon', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const calls = Array.from({ length: 6 }, () => helper.call(call('wait')))
  const ends = Promise.allSettled(calls)
  helper.stop()
  for (const end of await ends) t.match(end, { reason: { kind: 'stopped' } })
})

t.test('a hung call of one class affects no other class', async t => {
  const helpers = new Helpers({ spawn: createSpawner(process.env, CHILD), ...QUICK })
  t.teardown(() => helpers.stop())
  const [host, radio] = [helpers.get('host'), helpers.get('radio')]
  await Promise.all([host.call(call('echo')), radio.call(call('echo'))])
  const [hostPid, radioPid = 0] = [host.pid, radio.pid]
  const beside = host.stream(call('items', { count: 2000 }))
  await beside.next()
  await t.rejects(radio.call(call('block', null, 1)), { kind: 'hung', message: /within 1 s/ })
  await waitFor(() => !runs(radioPid))
  t.equal(await host.call(call('echo', 'x')), 'x')
  let items = 1
  for await (const _ of beside) items++
  t.equal(items, 2000, 'a stream of the other class goes on')
  t.equal(host.pid, hostPid)
})

t.test('a stream waits for its reader and never buffers more than its window', async t => {
  const helper = helperFor(t)
  const stream = helper.stream(call('items', { count: 10_000 }))
  const read: unknown[] = [(await stream.next()).value]
  const countProduced = async () => Number(await helper.call(call('produced')))
  await waitUntil('the window is full', async () => (await countProduced()) >= WINDOW_BYTES / 1100)
  await helper.call(call('slowEcho'))
  t.ok((await countProduced()) <= WINDOW_BYTES / 1000 + 1)
  for await (const event of stream) read.push(event)
  t.strictSame(
    read.map(event => (event as { value: { n: number } }).value.n),
    Array.from({ length: 10_000 }, (_, n) => n),
  )
})

/** A helper whose process answers nothing, and whose time the test moves. */
const silentHelper = () => {
  const orders: HelperOrder[] = []
  let answer = (_frame: ParsedFrame): void => {}
  const timers = new Map<() => void, number>()
  let [now, kills] = [0, 0]
  const callAfter = (ms: number, run: () => void) => {
    timers.set(run, now + ms)
    return () => timers.delete(run)
  }
  const spawn: SpawnHelper = listener => {
    answer = listener.onFrame
    queueMicrotask(() => listener.onFrame({ type: 'ready' }))
    return { pid: 1, send: order => orders.push(order), kill: () => void kills++ }
  }
  const pass = (seconds: number) => {
    now += seconds * 1000
    for (const [run, at] of timers) if (at <= now && timers.delete(run)) run()
  }
  const helper = new Helper({ spawn, clock: { now: () => now, callAfter } })
  const send = (frame: ParsedFrame) => answer(frame)
  return { helper, orders, send, pass, kills: () => kills }
}

t.test('a process that sends items past its credit is killed, and its call fails', async t => {
  const { helper, orders, send, kills } = silentHelper()
  const stream = helper.stream(call('items'))
  const first = stream.next()
  while (orders.length < 1) await Promise.resolve()
  const bytes = WINDOW_BYTES
  for (let sent = 0; sent <= WINDOW_BYTES + MAX_ITEM_BYTES; sent += bytes)
    send({ type: 'item', id: 0, value: 'x', bytes })
  t.equal(kills(), 1)
  await first
  await t.rejects(
    async () => {
      for await (const _ of stream);
    },
    { kind: 'died', message: /killed because a call sent more than its reader allowed/ },
  )
})

t.test(
  'a call waits 15 s for its turn, and a late one is cancelled before it is killed',
  async t => {
    const { helper, orders, pass, kills } = silentHelper()
    const calls = Array.from({ length: 4 }, () => helper.call(call('wait', null, 20)))
    const ends = Promise.allSettled(calls)
    const fifth = helper.call(call('wait', null, 20))
    while (orders.length < 4) await Promise.resolve()
    pass(15)
    await t.rejects(fifth, { kind: 'busy', message: /within 15 s/ })
    pass(5)
    t.strictSame(
      orders.map(({ type }) => type),
      ['call', 'call', 'call', 'call', 'cancel', 'cancel', 'cancel', 'cancel'],
    )
    t.equal(kills(), 0)
    pass(2)
    t.equal(kills(), 1)
    t.match(await ends, Array(4).fill({ reason: { kind: 'hung' } }))
  },
)

t.test('a reader that leaves ends the function, and the process stays', async t => {
  const helper = helperFor(t)
  for await (const event of helper.stream(call('items', { count: 10_000 }))) {
    t.match(event, { type: 'item', value: { n: 0 } })
    break
  }
  const { pid } = helper
  await waitUntil('one cleans up', async () => (await helper.call(call('cleanedUp'))) === 1)
  const controller = new AbortController()
  const stream = helper.stream(call('untilCancelled'), controller.signal)
  t.match(await stream.next(), { value: { value: 'first' } })
  const next = stream.next()
  controller.abort()
  await t.rejects(next, { kind: 'cancelled', message: 'it was cancelled' })
  await waitUntil('both clean up', async () => (await helper.call(call('cleanedUp'))) === 2)
  t.equal(helper.pid, pid)
  await t.rejects(helper.call(call('echo'), AbortSignal.abort()), {
    kind: 'cancelled',
    message: 'it was cancelled',
  })
})

t.test('a function that ignores a cancel costs its process, and others are repeated', async t => {
  const helper = helperFor(t)
  await helper.call(call('echo'))
  const { pid = 0 } = helper
  const controller = new AbortController()
  const ignoring = helper.call(call('wait'), controller.signal)
  const blocking = helper.call(call('block', null, 60), controller.signal)
  const waiting = helper.call(call('slowEcho', 'x'))
  controller.abort()
  await t.rejects(ignoring, { kind: 'cancelled', message: 'it was cancelled' })
  await t.rejects(blocking, { kind: 'cancelled', message: 'it was cancelled' })
  t.equal(await waiting, 'x')
  await waitFor(() => !runs(pid))
})

t.test('a call that has sent items is not repeated when its process dies', async t => {
  const helper = helperFor(t)
  const read: unknown[] = []
  const readAll = async () => {
    for await (const event of helper.stream(call('itemThenExit'))) read.push(event)
  }
  await t.rejects(readAll(), { kind: 'died', message: /ended with code 4/ })
  t.strictSame(read, [{ type: 'item', value: 'first' }])
  await t.rejects(
    async () => {
      for await (const event of helper.stream(call('failLater'))) read.push(event)
    },
    { kind: 'failed', message: 'it broke' },
  )
  t.equal(read.length, 2)
})

t.test('progress is reported at intervals, not each time', async t => {
  const events: unknown[] = []
  for await (const event of helperFor(t).stream(call('progress'))) events.push(event)
  t.match(events[0], { type: 'progress', progress: { total: 1000 } })
  t.match(events.at(-1), { type: 'item', value: 'end' })
  t.ok(events.length < 10)
})

t.test('a function that reports impossible progress fails alone', async t => {
  const helper = helperFor(t)
  const readAll = async (name: string) => {
    for await (const event of helper.stream(call(name))) void event
  }
  const [wrong] = await Promise.allSettled([readAll('wrongProgress'), readAll('progress')])
  t.match(wrong, { reason: { kind: 'failed' } })
  await t.resolves(readAll('progress'))
})
