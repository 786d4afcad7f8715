import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { type PortResult, PortScan } from '../../../discovery/net/port-scan.ts'
import { type ProbeOutcome, probePort } from '../../../discovery/net/probe-port.ts'
import { ProbeWindow } from '../../../discovery/net/probe-window.ts'

const WINDOW_MAX = 256
const WINDOW_START = 64

const LOOPBACK_ONLY = { entries: [] }
const LAN = { entries: [{ target: '10.0.0.0/22' }] }
const isUp = (): boolean => false
const never = new AbortController().signal

const readAll = async (scan: PortScan): Promise<PortResult[]> => {
  const results: PortResult[] = []
  for await (const result of scan.run()) results.push(result)
  return results
}

type Reply = ProbeOutcome | ((attempt: number) => ProbeOutcome)

/** Probes that answer from a function, with their number at once. */
const scripted = (reply: (address: string, port: number) => Reply) => {
  const attempts = new Map<string, number>()
  const state = { now: 0, most: 0, count: 0, perHost: new Map<string, number>() }
  const probe: typeof probePort = async (address, port) => {
    const key = `${address}:${port}`
    const attempt = attempts.get(key) ?? 0
    attempts.set(key, attempt + 1)
    state.count++
    state.most = Math.max(state.most, ++state.now)
    state.perHost.set(address, (state.perHost.get(address) ?? 0) + 1)
    await new Promise(setImmediate)
    state.now--
    const answer = reply(address, port)
    return typeof answer === 'function' ? answer(attempt) : answer
  }
  return { probe, state }
}

const hosts = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `10.0.${at >> 8}.${at & 255}`)

t.test('a probe tells an open port from a refused one', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const options = { scope: LOOPBACK_ONLY, signal: never, timeoutMs: 2000 }
  t.equal(await probePort('127.0.0.1', port, options), 'open')
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const free = (closed.address() as AddressInfo).port
  closed.close()
  await once(closed, 'close')
  t.equal(await probePort('127.0.0.1', free, options), 'closed')
})

t.test('an address outside the scope is refused before a packet leaves', async t => {
  t.throws(() => probePort('192.0.2.1', 80, { scope: LAN, signal: never, timeoutMs: 1 }), {
    code: 'scope_denied',
  })
  t.throws(() => probePort('169.254.169.254', 80, { scope: LAN, signal: never, timeoutMs: 1 }), {
    code: 'scope_denied',
  })
  await t.rejects(readAll(new PortScan(['192.0.2.1'], [80], { scope: LAN, signal: never, isUp })), {
    code: 'scope_denied',
  })
})

t.test('a scan finds every open port of many hosts within its window', async t => {
  const { probe, state } = scripted((_, port) => (port % 7 === 0 ? 'open' : 'closed'))
  const ports = Array.from({ length: 25 }, (_, at) => at + 1)
  const scan = new PortScan(hosts(300), ports, { scope: LAN, signal: never, isUp, probe })
  const results = await readAll(scan)
  t.equal(results.length, 300 * 25)
  t.equal(results.filter(({ state }) => state === 'open').length, 300 * 3)
  t.equal(scan.answering, 300)
  t.ok(state.most > WINDOW_START && state.most <= WINDOW_MAX, `${state.most} at once`)
})

t.test('what an answering host left unanswered is asked once more', async t => {
  const { probe } = scripted((_, port) =>
    port === 80 ? 'open' : attempt => (attempt === 0 ? 'filtered' : 'open'),
  )
  const scan = new PortScan(['10.0.0.1'], [80, 443], { scope: LAN, signal: never, isUp, probe })
  t.strictSame(
    (await readAll(scan)).map(({ port, state }) => `${port} ${state}`),
    ['80 open', '443 filtered', '443 open'],
  )
})

t.test('a host that stays silent is given up, and one that is known to be up is not', async t => {
  const { probe, state } = scripted(() => 'filtered')
  const ports = Array.from({ length: 100 }, (_, at) => at + 1)
  const options = { scope: LAN, signal: never, probe, isUp: (each: string) => each === '10.0.0.2' }
  await readAll(new PortScan(['10.0.0.1', '10.0.0.2'], ports, options))
  t.ok((state.perHost.get('10.0.0.1') ?? 0) < 32)
  t.equal(state.perHost.get('10.0.0.2'), 100)
})

t.test('a machine without free descriptors loses no port', async t => {
  let free = 2
  const probe: typeof probePort = async () => {
    if (free === 0) return 'exhausted'
    free--
    await new Promise(setImmediate)
    free++
    return 'open'
  }
  const scan = new PortScan(hosts(20), [22, 80, 443], { scope: LAN, signal: never, isUp, probe })
  t.equal((await readAll(scan)).length, 60)
  t.ok(scan.window.size < WINDOW_START)
})

t.test('a scan ends at once when its signal aborts, or when its reader leaves', async t => {
  let aborted = 0
  const probe: typeof probePort = (_address, port, { signal }) =>
    port === 1
      ? Promise.resolve('open')
      : new Promise(resolve =>
          signal.addEventListener('abort', () => {
            aborted++
            resolve('aborted')
          }),
        )
  const controller = new AbortController()
  const options = { scope: LAN, isUp, probe }
  const scan = new PortScan(hosts(3), [1, 2], { ...options, signal: controller.signal })
  const found: PortResult[] = []
  for await (const result of scan.run()) {
    found.push(result)
    if (found.length === 3) controller.abort()
  }
  t.equal(found.length, 3)
  t.equal(aborted, 3)
  for await (const _ of new PortScan(hosts(3), [1, 2], { ...options, signal: never }).run()) break
  t.equal(aborted, 6)
})

t.test('a window is halved once for the losses of one flight', async t => {
  const window = new ProbeWindow()
  for (let at = 0; at < WINDOW_START; at++) window.enter()
  for (let at = 0; at < WINDOW_START; at++) {
    window.shrink()
    window.leave()
  }
  t.equal(window.size, WINDOW_START / 2)
  window.shrink()
  t.equal(window.size, WINDOW_START / 4)
})
