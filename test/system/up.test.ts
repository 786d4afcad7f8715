import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { postgresMissing } from '../support/postgres.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '..', '..')
const run = promisify(execFile)

interface Ready {
  base_url: string
  mqtt_url: string
  ca_file?: string
  keys: Record<string, string>
  pids: { coordinator: number; cells: number[] }
  replicas?: { name: string; url: string; pid: number }[]
}

/** `npm start` in a folder of its own, and everything that it said. */
class Launcher {
  readonly folder: string
  readonly readyFile: string
  said = ''
  readonly child: ChildProcess

  constructor(folder: string, args: string[]) {
    this.folder = folder
    this.readyFile = join(folder, 'ready.json')
    const flags = ['--state-dir', join(folder, 'state'), '--ready-file', this.readyFile]
    this.child = spawn(process.execPath, [join(root, 'bin', 'up.mjs'), ...flags, ...args], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.child.stdout, this.child.stderr])
      if (stream) createInterface({ input: stream }).on('line', line => (this.said += `${line}\n`))
  }

  /** The ready file, when it is there and as wanted. */
  waitForReady(isRight: (ready: Ready) => boolean = () => true): Promise<Ready> {
    return waitUntil('the ready file is there and right', () => {
      if (this.child.exitCode !== null) throw new Error(`npm start ended:\n${this.said}`)
      if (!existsSync(this.readyFile)) return undefined
      const ready: Ready = JSON.parse(readFileSync(this.readyFile, 'utf8'))
      return isRight(ready) && ready
    })
  }

  async waitForOutput(pattern: RegExp): Promise<void> {
    await waitUntil(`npm start says ${pattern}`, () => pattern.test(this.said))
  }

  async waitForExit(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null)
      await once(this.child, 'close')
    return this.child.exitCode
  }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

const waitForAllGone = async ({ pids, replicas = [] }: Ready): Promise<void> => {
  const all = [pids.coordinator, ...pids.cells, ...replicas.map(({ pid }) => pid)]
  await waitUntil('all processes are gone', () => !all.some(isAlive))
}

const start = (t: Test, folder: string, ...args: string[]): Launcher => {
  const launcher = new Launcher(folder, args)
  t.teardown(async () => {
    launcher.child.kill('SIGTERM')
    await launcher.waitForExit()
  })
  return launcher
}

const newFolder = (t: Test): string => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-up-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Runs the line that the screen offers. */
const runCurlLine = async ({ said }: Launcher) => {
  const line = said.split('\n').find(text => text.startsWith('curl ')) ?? 'false'
  const { stdout } = await run('bash', ['--norc', '-c', line])
  return JSON.parse(stdout)
}

/** Joins as another machine does, by the line on the screen of a start with `--lan`. */
const joinByLine = async (t: Test, launcher: Launcher, { base_url, ca_file, keys }: Ready) => {
  await launcher.waitForOutput(/Ctrl-C stops everything/)
  t.match(base_url, /^https:\/\/127\.0\.0\.2:\d+$/)
  t.match((await runCurlLine(launcher)).choices[0].message.content, /\w+ \w+/)

  const line = launcher.said.split('\n').find(text => text.startsWith('shoald join ')) ?? 'false'
  t.match(line, `shoald join ${base_url} --token shl_join_`)
  const state = join(launcher.folder, 'joined')
  const env = { PATH: `${join(root, 'bin')}:${process.env.PATH}`, NODE_EXTRA_CA_CERTS: ca_file }
  const words = ['--norc', '-c', `${line} --state-dir ${state}`]
  const { stdout } = await run('bash', words, { env })
  t.match(stdout, "The coordinator's certificate authority is pinned")
  const list = ['--norc', '-c', `shoal --url ${base_url} --key ${keys.operator} cells list`]
  const cells = (await run('bash', list, { env })).stdout.match(/cell_\w+/g) ?? []
  t.equal(cells.length, 3, 'the two of before, and the new one')
}

const FREE_PORTS = ['--port', '0', '--mqtt-port', '0']

t.test('npm start', async t => {
  const folder = newFolder(t)
  const launcher = start(t, folder, ...FREE_PORTS, '--cells', '2')
  const first = await launcher.waitForReady()

  t.test('prints the next steps on one screen, and writes them for programs', async t => {
    await launcher.waitForOutput(/Ctrl-C stops everything/)
    t.equal(statSync(launcher.readyFile).mode & 0o777, 0o600)
    const keysFile = join(folder, 'state', 'demo-keys.json')
    t.equal(statSync(keysFile).mode & 0o777, 0o600)
    t.strictSame(JSON.parse(readFileSync(keysFile, 'utf8')), first.keys)
    t.equal(first.pids.cells.length, 2)
    t.match(first.mqtt_url, /^mqtt:\/\/127\.0\.0\.1:\d+$/)
    for (const key of Object.values(first.keys)) t.ok(launcher.said.includes(key))
    t.ok(launcher.said.includes(first.base_url))
    const [, banner = ''] = launcher.said.split(/^(?=shoal is up)/m)
    t.ok(banner.split('\n').length < 24)
  })

  const ask = () => runCurlLine(launcher)
  t.test('prints a curl line that works when pasted', async t => {
    t.match(await ask(), { model: 'model-a:7b', choices: [{ finish_reason: 'stop' }] })
  })

  t.test('has simulated devices on the first cell', async t => {
    const headers = { authorization: `Bearer ${first.keys.operator}` }
    const answer = await fetch(`${first.base_url}/a2a/devices`, { headers })
    const { devices } = (await answer.json()) as { devices: { name: string }[] }
    const names = devices.map(({ name }) => name).sort()
    t.match(names, ['drone-1', 'printer-1', 'rover-1', 'rover-2', 'rover-3', 'rover-4', 'switch-1'])
  })

  t.test('restarts a killed coordinator on the same port', async t => {
    process.kill(first.pids.coordinator, 'SIGKILL')
    const next = await launcher.waitForReady(
      ({ pids }) => pids.coordinator !== first.pids.coordinator,
    )
    t.strictSame(next.pids.cells, first.pids.cells)
    t.equal(next.base_url, first.base_url)
    t.equal(next.mqtt_url, first.mqtt_url)
    t.match(await ask(), { object: 'chat.completion' })
    t.match(launcher.said, /shoal-coordinator ended with SIGKILL; it starts again in 0.25 s/)
  })

  t.test('restarts a killed daemon', async t => {
    process.kill(first.pids.cells[1] ?? 0, 'SIGKILL')
    const next = await launcher.waitForReady(({ pids }) => pids.cells[1] !== first.pids.cells[1])
    t.equal(next.pids.cells[0], first.pids.cells[0])
    t.match(await ask(), { object: 'chat.completion' })
  })

  t.test('refuses a second instance on the same folder', async t => {
    const second = new Launcher(folder, ['--ready-file', join(folder, 'second.json')])
    t.equal(await second.waitForExit(), 65)
    t.match(second.said, /^npm start: .*state is used by another npm start\n$/)
  })

  t.test('stops everything on SIGTERM', async t => {
    const last = await launcher.waitForReady()
    launcher.child.kill('SIGTERM')
    t.equal(await launcher.waitForExit(), 0)
    await waitForAllGone(last)
    t.notOk(existsSync(launcher.readyFile))
  })

  t.test('keeps keys and cells at the next start, and ends with its children', async t => {
    const keysFile = join(folder, 'state', 'demo-keys.json')
    const identity = () => readFileSync(join(folder, 'state', 'cell-1', 'identity.json'), 'utf8')
    const { cell_id } = JSON.parse(identity())
    writeFileSync(keysFile, JSON.stringify({ ...first.keys, pro: 'lost' }))
    const again = start(t, folder, ...FREE_PORTS, '--lan', '--address', '127.0.0.2')
    const ready = await again.waitForReady()
    t.match(again.said, /^new keys for pro: /m, 'a key that was lost is replaced by a new one')
    t.strictSame({ ...ready.keys, pro: '' }, { ...first.keys, pro: '' })
    t.strictSame(JSON.parse(readFileSync(keysFile, 'utf8')), ready.keys)
    t.equal(JSON.parse(identity()).cell_id, cell_id)
    await t.test('which serves with TLS for --lan, and its line makes another machine a cell', t =>
      joinByLine(t, again, ready),
    )
    again.child.kill('SIGKILL')
    await again.waitForExit()
    await waitForAllGone(ready)
  })
})

t.test('npm start with replicas', { skip: postgresMissing }, async t => {
  const folder = newFolder(t)
  const flags = ['--port', '0', '--replicas', '2', '--postgres', 'embedded']
  const launcher = start(t, folder, ...flags)
  const first = await launcher.waitForReady()
  const [one, two] = first.replicas ?? []
  if (one === undefined || two === undefined) throw new Error('no two replicas')

  t.test('names each coordinator, and each answers what the curl line asks', async t => {
    await launcher.waitForOutput(/2 coordinators behind \S/)
    for (const { name, url } of [one, two]) t.ok(launcher.said.includes(`${name}  ${url}`))
    for (const url of [first.base_url, one.url, two.url]) {
      const said = launcher.said.replaceAll(`curl -s ${first.base_url}`, `curl -s ${url}`)
      t.match(await runCurlLine({ said } as Launcher), { object: 'chat.completion' }, url)
    }
  })

  t.test('restarts a killed coordinator where it was', async t => {
    process.kill(two.pid, 'SIGKILL')
    const next = await launcher.waitForReady(ready => ready.replicas?.[1]?.pid !== two.pid)
    t.equal(next.replicas?.[1]?.url, two.url)
    t.equal(next.replicas?.[0]?.pid, one.pid)
  })

  t.test('stops everything, and PostgreSQL last', async t => {
    const last = await launcher.waitForReady()
    launcher.child.kill('SIGTERM')
    t.equal(await launcher.waitForExit(), 0)
    await waitForAllGone(last)
    const log = readFileSync(join(folder, 'state', 'logs', 'postgres.log'), 'utf8')
    t.match(log, /database system is shut down\n$/)
  })
})

t.test('a permanent fault ends npm start with one line and a code', async t => {
  const launchRefused = async (folder: string, ...args: string[]) => {
    const launcher = new Launcher(folder, args)
    const code = await launcher.waitForExit()
    t.notOk(existsSync(launcher.readyFile))
    return { code, said: launcher.said }
  }

  t.test('a port is in use, and its owner receives no data', async t => {
    let bytes = 0
    const foreign = createServer(socket => socket.on('data', data => (bytes += data.length)))
    foreign.listen(0, '127.0.0.1')
    await once(foreign, 'listening')
    t.teardown(() => foreign.close())
    const { port } = foreign.address() as AddressInfo
    const http = await launchRefused(newFolder(t), '--port', `${port}`, '--mqtt-port', 'none')
    t.equal(http.code, 69)
    t.match(http.said, new RegExp(`^npm start: .*port ${port} on 127.0.0.1 is in use.*\n$`, 'm'))
    const mqtt = await launchRefused(newFolder(t), '--port', '0', '--mqtt-port', `${port}`)
    t.equal(mqtt.code, 69)
    t.match(mqtt.said, new RegExp(`^npm start: .*port ${port} on 127.0.0.1 is in use.*\n$`, 'm'))
    t.equal(bytes, 0)
  })

  for (const [what, file, code, message] of [
    ['keys that are no JSON', 'demo-keys.json', 65, /demo-keys.json is damaged/],
    [
      'a ledger that is no database',
      'coordinator/ledger.db',
      65,
      /a database in .* is damaged \(file is not a database\)/,
    ],
    ['an identity that makes no sense', 'cell-1/identity.json', 74, /identity.json is damaged/],
  ] as const)
    t.test(what, async t => {
      const folder = newFolder(t)
      await run('mkdir', ['-p', join(folder, 'state', file, '..')])
      writeFileSync(join(folder, 'state', file), 'x'.repeat(4096))
      const refusal = await launchRefused(folder, ...FREE_PORTS)
      t.equal(refusal.code, code)
      t.match(refusal.said, message)
      t.equal(refusal.said.trimEnd().split('\n').length, 1)
    })

  t.test('a folder cannot be created, or a flag is unknown', async t => {
    const folder = newFolder(t)
    const unmade = await launchRefused(folder, '--state-dir', '/dev/null/x')
    t.strictSame(unmade, {
      code: 73,
      said: "npm start: cannot make the folder /dev/null/x/logs: ENOTDIR: not a directory, mkdir '/dev/null/x/logs'\n",
    })
    const unready = await launchRefused(folder, '--ready-file', '/dev/null/x')
    t.equal(unready.code, 73)
    t.match(unready.said, /^npm start: cannot write \/dev\/null\/x: /)
    t.equal((await launchRefused(folder, '--nonsense')).code, 64)
  })
})

t.test('a program started by an older Node ends with it', async t => {
  const folder = newFolder(t)
  const script = join(root, 'bin', 'shoal-coordinator.mjs')
  const args = [script, '--http-port', '0', '--state-dir', folder]
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, SHOAL_STAND_IN: '1' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream }))
    if (line.includes('coordinator is up')) break
  child.disconnect()
  const [code, signal] = await once(child, 'exit')
  t.strictSame([code, signal], [0, null])
})
