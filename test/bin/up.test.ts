import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { openDatabase } from '../../bin/up/database.ts'
import { writeDeviceConfig } from '../../bin/up/demo-devices.ts'
import { coordinatorArgs } from '../../bin/up/invocations.ts'
import { openLog } from '../../bin/up/log.ts'
import { LogReports } from '../../bin/up/log-reports.ts'
import { Member, type MemberOptions } from '../../bin/up/member.ts'
import { parseOptions } from '../../bin/up/options.ts'
import { readyText } from '../../bin/up/ready-file.ts'
import { isPermanentFailure, restartMs } from '../../bin/up/restarts.ts'
import { bannerText, createScreen } from '../../bin/up/screen.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'

const KEYS = {
  free: 'key-free',
  pro: 'key-pro',
  enterprise: 'key-enterprise',
  operator: 'key-operator',
  approver_a: 'key-a',
  approver_b: 'key-b',
}

t.test('npm start parses its flags and has defaults', async t => {
  t.strictSame(parseOptions([], '/project'), {
    stateDir: '/project/.shoal',
    port: 7070,
    mqttPort: 7071,
    lan: undefined,
    cells: 1,
    replicas: 1,
    postgres: undefined,
    devices: 'sim',
    readyFile: undefined,
  })
  const all = ['--state-dir', '/s', '--port', '0', '--mqtt-port=none', '--cells', '64']
  const more = ['--devices', 'none', '--ready-file', '/r', '--lan', '--address', '10.9.0.1']
  t.strictSame(parseOptions([...all, ...more], '/project'), {
    stateDir: '/s',
    port: 0,
    mqttPort: undefined,
    lan: '10.9.0.1',
    cells: 64,
    replicas: 1,
    postgres: undefined,
    devices: 'none',
    readyFile: '/r',
  })
  t.equal(parseOptions(['--help', '--cells', 'x'], '/project'), undefined)
  for (const [argv, message] of [
    [['--port', '65536'], /^--port takes a whole number from 0 to 65535, not 65536$/],
    [['--port', '-1'], /ambiguous/],
    [['--port='], /^--port takes/],
    [['--mqtt-port', '1e3'], /^--mqtt-port takes/],
    [['--cells', '0'], /^--cells takes a whole number from 1 to 64, not 0$/],
    [['--cells', '65'], /^--cells takes/],
    [['--devices', 'many'], /^--devices takes sim or none, not many$/],
    [['--address', '10.9.0.1'], /^--address is for --lan$/],
    [['--lan', '--address', 'here'], /^--address takes an IP address, not here$/],
    [['--lan', '--replicas', '3', '--postgres', 'x'], /^--lan is for one coordinator only$/],
    [['--replicas', '3'], /^--replicas needs --postgres/],
    [['--replicas', '3', '--postgres', 'x', '--mqtt-port', '1'], /^--mqtt-port is for one/],
    [['--state', 'x'], /^Unknown option '--state'; --help lists the flags$/],
    [['start'], /^Unexpected argument 'start'/],
  ] as const)
    t.throws(() => parseOptions([...argv], '/'), { exitCode: 64, message }, argv.join(' '))
})

t.test('an address that names no database of PostgreSQL is refused in one line', async t => {
  for (const [postgres, message] of [
    [
      'foo',
      /^--postgres takes embedded or postgres:\/\/user@host\/name: must be an address such as postgres:/,
    ],
    ['mysql://x/name', /^--postgres takes embedded/],
  ] as const) {
    const options = parseOptions(['--postgres', postgres], '/') as NonNullable<
      ReturnType<typeof parseOptions>
    >
    const opening = openDatabase({ options, screen: createScreen({ write: () => {} }), env: {} })
    await t.rejects(opening, { exitCode: 64, message })
  }
})

t.test('a child that exits', async t => {
  t.strictSame(
    [0, 1, 2, 5, 6, 60].map(restartMs),
    [250, 500, 1000, 8000, 10_000, 10_000],
    'is started again after a growing pause',
  )
  for (const code of [64, 65, 69, 73, 74, 77, 78])
    t.ok(isPermanentFailure(code), `${code} is final`)
  for (const code of [null, 0, 1, 70, 75, 137]) t.notOk(isPermanentFailure(code), `${code} is not`)

  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-up-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  /** A child that is a line of JavaScript. */
  const member = (script: string, more: Partial<MemberOptions>): Member =>
    new Member({
      name: 'child',
      program: [process.execPath, '-e'],
      log: openLog(join(folder, 'child.log'), reason => t.fail(reason)),
      invocation: async () => ({ args: [script], env: { PATH: process.env.PATH } }),
      isReady: entry => entry.msg === 'ready',
      onChange: () => {},
      tell: () => {},
      wait: async () => {},
      nowMs: () => 0,
      ...more,
    })

  t.test(
    'stops all processes and prints its message when it fails permanently before it is ready',
    async t => {
      const child = member('console.error("the port is taken"); process.exitCode = 69', {})
      await t.rejects(child.run(), { exitCode: 69, message: 'the port is taken' })
    },
  )

  t.test('is restarted with a message after the same failure once it was ready', async t => {
    const pauses: number[] = []
    const told: string[] = []
    const child = member('console.log(`{"msg":"ready"}`); process.exitCode = 69', {
      tell: text => told.push(text),
      wait: async milliseconds => {
        pauses.push(milliseconds)
        if (pauses.length === 3) void child.stop()
      },
    })
    await child.run()
    t.strictSame(pauses, [250, 500, 1000])
    t.strictSame(told.slice(0, 2), [
      'child ended with code 69; it starts again in 0.25 s',
      'child is up again',
    ])
  })

  t.test('restarts after the shortest pause again once it has run for 30 s', async t => {
    const pauses: number[] = []
    let now = 0
    const lives = [29_999, 30_000, 1]
    const child = member('process.exitCode = 1', {
      nowMs: () => now,
      onChange: () => {
        now += lives.shift() ?? 0
      },
      wait: async milliseconds => {
        pauses.push(milliseconds)
        if (pauses.length === 3) void child.stop()
      },
    })
    await child.run()
    t.strictSame(pauses, [250, 250, 500])
  })
})

const MANY = ['m1', 'm2', 'm3', 'm4']

t.test('the log of a member is repeated where a user must know of it', async t => {
  const told: string[] = []
  const reports = new LogReports(text => told.push(text))
  const usage = { requests_expected: 3, requests_found: 0, tokens_expected: 9, tokens_found: 0 }
  for (const entry of [
    { msg: 'engine ready', weights: 'a' },
    { msg: 'engine failed', weights: 'a', models: MANY, reason: 'the engine was ended by SIGKILL' },
    { msg: 'engine failed', weights: 'a', models: MANY, reason: 'the engine was ended by SIGKILL' },
    { msg: 'engine failed', weights: '/x', models: ['x'], reason: '/x: the file is not there' },
    { msg: 'engine ready', weights: 'b' },
    { msg: 'engine ready', weights: 'a', models: ['m1'] },
    { msg: 'engine ready', weights: 'a', models: ['m1'] },
    { msg: 'usage of an hour is missing or was changed', hour: '2026-11-20T12:00', ...usage },
  ])
    reports.onEntry(entry)
  t.strictSame(told, [
    'm1, m2, m3, 1 more: the engine was ended by SIGKILL',
    'x: /x: the file is not there',
    'm1: the engine is ready again',
    'usage of 2026-11-20T12:00 is missing or was changed: 0 of 3 requests are stored; shoal alerts list shows what to do',
  ])
})

t.test('the output on a terminal or pipe', async t => {
  const renderScreen = (isTTY: boolean): string => {
    let text = ''
    const screen = createScreen({ isTTY, columns: 12, write: more => (text += more) })
    screen.progress('one')
    screen.progress('one')
    screen.progress('a long line of progress')
    screen.say('done\x1b[2J')
    if (!isTTY) screen.progress('a long line of progress')
    return text
  }
  t.equal(
    renderScreen(false),
    'one\na long line of progress\ndone [2J\n',
    'is plain lines in a pipe',
  )
  t.equal(
    renderScreen(true),
    'one\r\x1b[2Ka long line\r\x1b[2Kdone [2J\n',
    'is one line on a terminal',
  )

  const banner = { baseUrl: 'http://h:1', mqttUrl: undefined, keys: KEYS, cells: 2 }
  const text = bannerText({ ...banner, devices: 'none', keysFile: '/k', logs: '/l' })
  for (const part of ['http://h:1/v1', '/k', '/l', ...Object.values(KEYS)])
    t.ok(text.includes(part))
  t.equal(text.split('\n').filter(line => line.startsWith('curl ')).length, 1)
  t.match(text, `\nexport SHOAL_URL=http://h:1\nexport SHOAL_KEY=${KEYS.operator}\n`)
  t.notMatch(text, /MQTT|simulated|CA_FILE/)
  const lan = { ...banner, caFile: '/s/it is/ca.pem', joinLine: 'shoald join' }
  const block = bannerText({ ...lan, devices: 'none', keysFile: '/k', logs: '/l' })
  const lines = block.slice(block.indexOf('export SHOAL_URL')).split('\n').slice(0, 6)
  t.ok(
    lines.every(line => line.startsWith('export ')),
    'one block to paste',
  )
  t.match(lines.slice(2), [
    /^export SHOAL_CA_FILE='\/s\/it is\/ca.pem'$/,
    /^export NODE_EXTRA_CA_CERTS=/,
  ])
})

t.test('the first cell starts with simulated devices, in a file that stays as it is', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-up-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = await writeDeviceConfig(folder)
  const { devices } = DaemonConfig.parse(parse(readFileSync(path, 'utf8')))
  t.match(devices, { site: 'demo', links: [{ kind: 'sim' }] })
  writeFileSync(path, 'name: mine\n')
  t.equal(await writeDeviceConfig(folder), path)
  t.equal(readFileSync(path, 'utf8'), 'name: mine\n')
})

t.test('coordinators read coordinator.yaml of the state folder where there is one', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-up-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  t.notOk(coordinatorArgs(folder).includes('--config'))
  const path = join(folder, 'coordinator.yaml')
  writeFileSync(path, 'flows: {}\n')
  t.strictSame(coordinatorArgs(folder).slice(0, 2), ['--config', path])
})

t.test('the ready file holds the addresses, keys and process ids', async t => {
  const pids = { coordinator: 1, cells: [2, 3] }
  const text = readyText({ baseUrl: 'http://h:1', mqttUrl: 'mqtt://h:2' }, KEYS, pids)
  t.strictSame(JSON.parse(text), {
    base_url: 'http://h:1',
    a2a_url: 'http://h:1',
    mcp_url: 'http://h:1/mcp/',
    mqtt_url: 'mqtt://h:2',
    keys: KEYS,
    pids,
  })
  const without = readyText({ baseUrl: 'http://h:1', mqttUrl: undefined }, KEYS, pids)
  t.equal(JSON.parse(without).mqtt_url, null)
})

t.test('the log of a child', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-up-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const path = join(folder, 'x.log')
  const failed = new Promise<string>(resolve => {
    const log = openLog(join(folder, 'not', 'there.log'), resolve)
    log.write('lost')
  })
  t.match(await failed, /there.log cannot be written: ENOENT/, 'that cannot be written is told')

  const write = (line: string) =>
    new Promise<void>(resolve => {
      const log = openLog(path, reason => t.fail(reason))
      log.write(line)
      log.end(resolve)
    })
  await write('first')
  await write('second')
  t.equal(readFileSync(path, 'utf8'), 'first\nsecond\n', 'is added to')
  t.equal(statSync(path).mode & 0o777, 0o600)
  truncateSync(path, 10 * 1024 * 1024 + 1)
  await write('third')
  t.equal(readFileSync(path, 'utf8'), 'third\n', 'is put aside when it is large')
  t.strictSame(readdirSync(folder).sort(), ['x.log', 'x.log.1'])
})
