import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type FSWatcher, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readUnit, type Unit } from './unit-file.ts'
import { waitUntil } from './wait-until.ts'

interface UnitRunnerParts {
  /** Root of the machine as this process sees it; only for names, the mounts are elsewhere. */
  root: string
  /** Folder in which `systemctl` of the machine leaves its calls. */
  bridge: string
  enter: (...words: string[]) => [command: string, args: string[]]
}

/** User of all services, as DynamicUser= makes one. */
const USER = '61234'

interface RunningUnit {
  child: ChildProcess
  text: string
}

/**
 * Starts services as systemd does, for what these units use: the command and its environment, a user
 * of their own, the state and cache folders, a credential, and the addresses that may be reached.
 */
export class UnitRunner implements AsyncDisposable {
  readonly #parts: UnitRunnerParts
  readonly #watcher: FSWatcher
  readonly #running = new Map<string, RunningUnit>()
  #log = ''

  constructor(parts: UnitRunnerParts) {
    this.#parts = parts
    this.#watcher = watch(parts.bridge, () => this.#takeCalls())
  }

  log(): string {
    return this.#log
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watcher.close()
    for (const name of this.#running.keys()) await this.#stop(name)
  }

  #takeCalls(): void {
    const { bridge } = this.#parts
    for (const name of readdirSync(bridge).filter(name => name.endsWith('.ask'))) {
      const file = join(bridge, name)
      const words = readFileSync(file, 'utf8').trim().split(' ')
      rmSync(file)
      const answer = join(bridge, `${basename(name, '.ask')}.answer`)
      this.#serve(words).then(
        () => writeFileSync(answer, '0\n'),
        (error: Error) => writeFileSync(answer, `1 ${error.message.replaceAll('\n', ' ')}\n`),
      )
    }
  }

  async #serve([verb = '', ...rest]: string[]): Promise<void> {
    const [name = ''] = rest.filter(word => !word.startsWith('--'))
    const unit = name.replace(/\.service$/, '')
    // units are read at each start, and nothing starts at a boot that does not come
    if (verb === 'daemon-reload' || verb === 'enable') return
    if (verb === 'try-restart' && !this.#running.has(unit)) return
    if (!['start', 'restart', 'try-restart', 'stop', 'disable'].includes(verb))
      throw new Error(`systemctl ${verb} is not known to the test`)
    await this.#stop(unit)
    if (verb.endsWith('start')) await this.#start(unit)
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const { child } = running
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }

  async #start(name: string): Promise<void> {
    const unit = readUnit(name, path => this.#shell(`cat ${path} 2>/dev/null || true`))
    this.#filterAddresses(unit)
    const [command, args] = this.#parts.enter(...this.#prepare(name, unit))
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const running = { child, text: '' }
    this.#running.set(name, running)
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => {
        running.text += bytes.toString()
        this.#log += bytes.toString()
      })
    await waitUntil(`${name} has started`, () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${running.text}`)
      return /"(coordinator is up|models are loaded|not all models are loaded)"/.test(running.text)
    })
  }

  /** Makes the folders, and returns the command with its user and environment. */
  #prepare(name: string, unit: Unit): string[] {
    const environment = [...unit.list('Environment')]
    for (const [setting, variable, parent] of [
      ['StateDirectory', 'STATE_DIRECTORY', '/var/lib'],
      ['CacheDirectory', 'CACHE_DIRECTORY', '/var/cache'],
    ] as const) {
      const folder = unit.last(setting)
      if (folder === undefined) continue
      const path = `${parent}/${folder}`
      this.#shell(`mkdir -p -m 700 ${path} && chown -R ${USER}:${USER} ${path}`)
      environment.push(`${variable}=${path}`)
    }
    const [id, file] = unit.last('LoadCredential')?.split(':') ?? []
    if (id !== undefined) {
      const folder = `/run/credentials/${name}`
      const text = this.#shell(`mkdir -p ${folder} && cat ${file} 2>/dev/null || echo`)
      this.#shell(`cat > ${folder}/${id} && chown -R ${USER} ${folder}`, text)
      environment.push(`CREDENTIALS_DIRECTORY=${folder}`)
    }
    const command = (unit.last('ExecStart') ?? '').split(' ')
    const user = ['--reuid', USER, '--regid', USER, '--clear-groups', '--no-new-privs']
    // a user that systemd has made has no home (systemd.exec(5)), and no entry that libraries could read
    return [
      'env',
      '-i',
      'LANG=C.UTF-8',
      `USER=${USER}`,
      `LOGNAME=${USER}`,
      ...environment,
      'setpriv',
      ...user,
      ...command,
    ]
  }

  /**
   * Filters the addresses of a unit. In systemd this is a filter of the service's control group;
   * here the whole machine is the service's.
   */
  #filterAddresses(unit: Unit): void {
    const isDenied =
      unit.last('IPAddressDeny') === 'any' && unit.last('IPAddressAllow') === 'localhost'
    const rule = (direction: string, address: string) =>
      `add table inet unit; add chain inet unit ${direction} { type filter hook ${direction} priority 0; }; add rule inet unit ${direction} ip ${address} != 127.0.0.0/8 drop;`
    this.#shell('nft delete table inet unit 2>/dev/null || true')
    if (isDenied) this.#shell(`nft '${rule('output', 'daddr')} ${rule('input', 'saddr')}'`)
  }

  #shell(line: string, input = ''): string {
    const [command, args] = this.#parts.enter('sh', '-c', line)
    const { stdout, stderr, status } = spawnSync(command, args, { input, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${line}: ${stderr}`)
    return stdout
  }
}
