import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createSpawner } from '../../../daemon/helper/helper-child.ts'
import type { HelperClass } from '../../../daemon/helper/helper-class.ts'
import { HelperFailure } from '../../../daemon/helper/helper-failure.ts'
import { Helpers } from '../../../daemon/helper/helpers.ts'
import type { HelperCall } from '../../../daemon/helper/job.ts'
import { createHostProbes, type HostProbes } from '../../../daemon/probes/host-probes.ts'
import { HOST_PROBES } from '../../../shared/probes/host-probes.ts'
import { loadHostProbe } from '../../../shared/probes/load.ts'
import { HOST_DATA_MAX_BYTES, HostProbeAnswer } from '../../../shared/wire/host-probe.ts'

const helpersFor = (t: Test, env: Record<string, string | undefined> = process.env): Helpers => {
  const helpers = new Helpers({ spawn: createSpawner(env) })
  t.teardown(() => helpers.stop())
  return helpers
}

const probesFor = (t: Test, targets: string[] = [], env = process.env): HostProbes =>
  createHostProbes({
    helpers: helpersFor(t, env),
    config: { enabled: true, allowed_targets: targets },
    now: Date.now,
  })

/** Probes over a helper that the test writes. */
const probesOver = (call: (asked: HelperCall) => Promise<unknown>, now = () => 0): HostProbes =>
  createHostProbes({
    helpers: { get: () => ({ call }) },
    config: { enabled: true, allowed_targets: [] },
    now,
    after: () => () => {},
  })

const NEEDED: Record<string, object> = {
  'process-load': { names: ['node'] },
  'inet-checksite': { url: 'http://127.0.0.1:9/' },
  'inet-latency': { host: '127.0.0.1' },
}

t.test('the probes run on this machine with the real library', async t => {
  const helpers = helpersFor(t)
  const config = { enabled: true, allowed_targets: ['127.0.0.1', '127.0.0.1:9'] }
  /** A busy machine may be late with an answer, but not again and again. */
  const askUntilSettled = async (id: string, tries = 3): Promise<HostProbeAnswer> => {
    const probes = createHostProbes({ helpers, config, now: Date.now })
    const answer = await probes.ask(id, NEEDED[id] ?? {})
    const isLate = /did not finish within/.test(answer.reason ?? '')
    return isLate && tries > 1 ? askUntilSettled(id, tries - 1) : answer
  }
  for (const { id, shape, removed } of HOST_PROBES)
    t.test(`${id} returns its findings or the reason for their absence`, async t => {
      const answer = HostProbeAnswer.parse(await askUntilSettled(id))
      const { available, reason, data } = answer
      t.notMatch(reason ?? '', /failed/, 'it came to an end')
      if (!available) {
        t.match(reason, /^[a-z].{10,}/)
        return t.equal(data, null)
      }
      const is = Array.isArray(data) ? 'list' : typeof data
      t.equal(is === 'string' ? 'text' : is, shape)
      const text = JSON.stringify(data)
      t.ok(Buffer.byteLength(text) <= HOST_DATA_MAX_BYTES)
      for (const name of removed) t.notMatch(text, new RegExp(`"${name}":`))
    })
})

t.test('the basic facts of this machine are present and measured', async t => {
  const probes = probesFor(t)
  const askProbe = async (id: string, input = {}): Promise<Record<string, unknown>> =>
    (await probes.ask(id, input)).data as never
  t.ok(Number((await askProbe('mem')).total) > 0)
  t.ok(Number((await askProbe('time')).uptime) > 0)
  t.equal((await askProbe('versions', { apps: ['node'] })).node, process.versions.node)
  t.strictSame(Object.keys(await askProbe('versions', { apps: ['node'] })), ['node'])
  t.equal((await askProbe('os-info')).platform, process.platform)
  const { list } = (await askProbe('processes')) as { list: { pid: number; cpu: number }[] }
  t.ok(list.some(({ pid }) => pid === process.pid))
  t.strictSame(
    list,
    list.toSorted((a, b) => b.cpu - a.cpu),
  )
  const traffic = (await askProbe('fs-stats')) as { rx_sec: number | null }
  t.type(traffic.rx_sec, 'number', 'a rate is there at the first call')
})

t.test('a missing interface has no traffic values, not even zero', async t => {
  const probes = probesFor(t)
  const there = await probes.ask('network-stats', { interfaces: ['lo'] })
  t.match(there, { available: true, data: [{ iface: 'lo' }] })
  t.match(await probes.ask('network-stats', { interfaces: ['lo', 'nope0'] }), {
    available: false,
    reason: 'there is no network interface nope0',
    data: null,
  })
})

const HOSTILE = [
  ...[
    '"',
    "'",
    '`',
    '$(touch HERE)',
    '`touch HERE`',
    '; touch HERE',
    '| touch HERE',
    '&& touch HERE',
  ],
  ...[
    '\ntouch HERE',
    '\r\ntouch HERE',
    'a\0touch HERE',
    '-o',
    '--help',
    '../../etc/passwd',
    '*',
    '',
  ],
  ...['$IFS', '%0atouch HERE', 'a,b', 'a|b', '>HERE', 'file:///etc/passwd', 'x'.repeat(5000)],
]
const PARAMETERS: [probe: string, of: (text: string) => object][] = [
  ['services', text => ({ names: [text] })],
  ['process-load', text => ({ names: [text] })],
  ['network-stats', text => ({ interfaces: [text] })],
  ['versions', text => ({ apps: [text] })],
  ['docker-container-stats', text => ({ container: text })],
  ['docker-container-processes', text => ({ container: text })],
  ['docker-images', text => ({ all: text })],
  ['inet-latency', text => ({ host: text })],
  ['inet-checksite', text => ({ url: text })],
  // a path may begin with a dash: it is no argument of its own
  ['inet-checksite', text => ({ url: `http://127.0.0.1/?${text}` })],
]

t.test('no parameter accepts the syntax of a shell, a path or an option', async t => {
  const probes = probesOver(async () => t.fail('the helper was asked'))
  for (const [id, of] of PARAMETERS)
    for (const text of HOSTILE)
      await t.rejects(probes.ask(id, of(text)), { code: 'invalid_request' }, `${id} ${text}`)
  const word = /^[A-Za-z0-9_.@+:/-]*$/
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), async text => {
      fc.pre(!word.test(text))
      for (const [id, of] of PARAMETERS)
        await probes.ask(id, of(text)).then(
          () => t.fail(`${id} took ${JSON.stringify(text)}`),
          ({ code }) => code === 'invalid_request' || t.fail(code),
        )
    }),
    { numRuns: 200 },
  )
})

t.test('nothing is executed even where a parameter reaches the library unchecked', async t => {
  const folder = t.testdir({})
  const canary = join(folder, 'was-here')
  const helper = helpersFor(t).get('host')
  for (const [id, of] of PARAMETERS.slice(0, -1))
    for (const text of HOSTILE.filter(text => text.includes('HERE') && !id.startsWith('docker'))) {
      const input = of(text.replaceAll('HERE', canary))
      const call = { module: 'host', function: id, input, deadlineSeconds: 30 }
      await helper.call(call).catch((error: HelperFailure) => t.equal(error.kind, 'failed'))
    }
  t.strictSame(readdirSync(folder), [])
  t.notOk(existsSync(canary))
})

t.test('a target that the cell does not allow is refused without any contact', async t => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    response.end('hello')
  })
  await new Promise<void>(up => server.listen(0, '127.0.0.1', up))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const url = `http://127.0.0.1:${port}/`
  const check = async (targets: string[]) =>
    await probesFor(t, targets).ask('inet-checksite', { url })
  for (const targets of [[], ['127.0.0.1'], ['127.0.0.1:1'], ['example.org'], ['10.0.0.0/8']]) {
    const { available, reason } = await check(targets)
    t.equal(available, false)
    t.match(reason, /probes\.allowed_targets of this cell does not allow 127\.0\.0\.1 port/)
  }
  t.equal(asked, 0)
  t.match(await check([`127.0.0.1:${port}`]), { available: true, data: { ok: true, status: 200 } })
  t.equal(asked, 1)
  const { reason } = await probesFor(t).ask('inet-latency', { host: 'localhost' })
  t.match(reason, /does not allow localhost/)
})

t.test('a site that does not answer has no status', async t => {
  const answer = await probesFor(t, ['127.0.0.1:9']).ask('inet-checksite', NEEDED['inet-checksite'])
  t.match(answer, { available: true, data: { ok: false, status: null, ms: null } })
})

/** An engine that tells secrets where docker does. */
const dockerEngine = async (t: Test): Promise<string> => {
  // the path of a socket has room for about a hundred letters (unix(7))
  const folder = mkdtempSync(join(tmpdir(), 'shoal-docker-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const socket = join(folder, 'docker.sock')
  const SECRET = { PASSWORD: 'hunter2' }
  const answers: [RegExp, unknown][] = [
    [
      /\/info$/,
      { ID: 'id', Containers: 1, Labels: ['token=hunter2'], HttpProxy: 'http://u:hunter2@p' },
    ],
    [
      /\/volumes$/,
      {
        Volumes: [
          { Name: 'v', Driver: 'local', Options: { o: 'password=hunter2' }, Labels: SECRET },
        ],
      },
    ],
    [/\/images\/json/, [{ Id: 'sha256:1', RepoTags: ['a:b'] }]],
    [
      /\/images\/.*json/,
      { Id: 'sha256:1', Config: { Env: ['P=hunter2'] }, Size: 7, Created: '2026-01-01' },
    ],
    [
      /\/containers\/json/,
      [
        {
          Id: 'abc',
          Names: ['/a'],
          Image: 'i',
          Command: 'run --password hunter2',
          Labels: SECRET,
          Ports: [],
          Mounts: [],
        },
      ],
    ],
    [
      /\/containers\/.*\/top/,
      { Titles: ['PID', 'COMMAND', 'USER'], Processes: [['1', 'run --password hunter2', 'root']] },
    ],
    [
      /\/containers\/.*\/json/,
      { Id: 'abc', Config: { Env: ['P=hunter2'] }, State: {}, HostConfig: {}, RestartCount: 0 },
    ],
  ]
  // the library writes the scheme before the path, which the server of node does not take
  const server = createTcpServer(connection => {
    connection.on('error', () => {})
    connection.once('data', head => {
      const [, url = ''] = head.toString().split(' ')
      const found = answers.find(([path]) => path.test(url))
      const body = JSON.stringify(found?.[1] ?? {})
      connection.end(`HTTP/1.0 ${found ? 200 : 404} x\r\n\r\n${body}`)
    })
  })
  await new Promise<void>(up => server.listen(socket, up))
  t.teardown(() => server.close())
  return socket
}

t.test(
  'docker probes report objects of the engine without environment, labels or arguments',
  async t => {
    const DOCKER_SOCKET = await dockerEngine(t)
    const probes = probesFor(t, [], { ...process.env, DOCKER_SOCKET })
    for (const { id } of HOST_PROBES.filter(({ id }) => id.startsWith('docker'))) {
      const { available, data } = await probes.ask(id, {})
      t.equal(available, true, id)
      t.notOk(JSON.stringify(data).includes('hunter2'), `${id}: ${JSON.stringify(data)}`)
    }
    t.match(await probes.ask('docker-info', {}), { data: { containers: 1 } })
    t.match((await probes.ask('docker-containers', {})).data, [{ name: 'a' }])
    t.match((await probes.ask('docker-volumes', {})).data, [{ name: 'v' }])
  },
)

t.test('a probe without its required programs names them', async t => {
  const empty = join(t.testdir({}), 'bin')
  mkdirSync(empty)
  const probes = probesFor(t, ['127.0.0.1'], { ...process.env, PATH: empty })
  for (const [id, reason] of [
    ['processes', 'ps is not installed'],
    ['block-devices', 'lsblk is not installed'],
    ['network-connections', 'neither netstat nor ss is installed'],
    ['inet-latency', 'ping is not installed'],
  ] as const)
    t.match(await probes.ask(id, NEEDED[id] ?? {}), { available: false, reason, data: null })
})

t.test('equal calls within a second share one answer', async t => {
  let [runs, nowMs] = [0, 1_000_000]
  const probes = probesOver(
    async () => ({ available: true, reason: null, data: ++runs }),
    () => nowMs,
  )
  const burst = await Promise.all(Array.from({ length: 20 }, () => probes.ask('full-load', {})))
  t.equal(runs, 1)
  t.ok(burst.every(({ data }) => data === 1))
  nowMs += 999
  t.equal((await probes.ask('full-load', {})).data, 1)
  t.equal((await probes.ask('mem', {})).data, 2, 'another probe is another answer')
  nowMs += 1
  t.equal((await probes.ask('full-load', {})).data, 3)
  nowMs -= 60_000
  t.equal((await probes.ask('full-load', {})).data, 4, 'also when the clock is set back')
  t.equal((await probes.ask('docker-images', { all: true })).data, 5)
  t.equal((await probes.ask('docker-images', {})).data, 6, 'other input is another question')
})

t.test('a failed probe is an answer; a full helper is an error', async t => {
  for (const kind of ['hung', 'died', 'failed', 'too_large'] as const) {
    const probes = probesOver(() => Promise.reject(new HelperFailure(kind, 'it was bad')))
    const answer = await probes.ask('mem', {})
    t.match(answer, { available: false, reason: /failed: it was bad/, data: null })
  }
  const probes = probesOver(() => Promise.reject(new HelperFailure('busy', '32 calls wait')))
  await t.rejects(probes.ask('mem', {}), { code: 'rate_limited' })
  await t.rejects(probes.ask('mem', {}), { code: 'rate_limited' }, 'and is not kept')
})

t.test('a probe runs in the helper of its reach', async t => {
  const asked: HelperClass[] = []
  const helperOf = (helperClass: HelperClass) => ({
    call: async () => {
      asked.push(helperClass)
      return { available: true, reason: null, data: 1 }
    },
  })
  const config = { enabled: true, allowed_targets: ['127.0.0.1'] }
  const probes = createHostProbes({ helpers: { get: helperOf }, config, now: Date.now })
  await probes.ask('mem', {})
  await probes.ask('inet-latency', { host: '127.0.0.1' })
  await probes.ask('wifi-networks', {})
  t.strictSame(asked, ['host', 'lan', 'radio'])
})

t.test('the owner of a cell can disable all probes', async t => {
  const config = { enabled: false, allowed_targets: [] }
  const call = async () => t.fail('the helper was asked')
  const helpers = { get: () => ({ call }) }
  const probes = createHostProbes({ helpers, config, now: Date.now })
  for (const { id } of HOST_PROBES)
    t.match(await probes.ask(id, NEEDED[id] ?? {}), { available: false, reason: /probes\.enabled/ })
})

t.test('an unknown probe or field is refused', async t => {
  const probes = probesOver(async () => t.fail('the helper was asked'))
  for (const id of ['get', 'observe', '__proto__', '', 'mem/../cpu'])
    await t.rejects(probes.ask(id, {}), { code: 'not_found' })
  for (const input of [{ a: 1 }, null, 1, []])
    await t.rejects(probes.ask('mem', input), { code: 'invalid_request' })
  t.equal(await loadHostProbe('toString'), undefined)
})
