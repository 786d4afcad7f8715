import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'
import { bootstrap, type DemoKeys } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { hideMarkedSecrets } from '../../shared/hide-secrets.ts'
import { placeEmptyStore } from './empty-store.ts'
import { HEAP_FLAGS } from './heap-flags.ts'
import { MEMORY_FOLDER } from './memory-folder.ts'
import { DEADLINE_MS, waitUntil } from './wait-until.ts'

/** A real coordinator and real daemons, as processes on loopback, in a folder of their own. */
export interface TestStack {
  url: string
  keys: DemoKeys
  folder: string
  /** Configuration file of the coordinator. */
  config: string
  coordinator: Process
  cells: Process[]
  /** Polls `/v1/health` until the answer is right. */
  waitForHealth(isRight: (health: HealthAnswer) => boolean): Promise<HealthAnswer>
  stop(): Promise<void>
}

interface HealthAnswer {
  status: string
  cells: number
  models: number
  latency_ms: number
}

interface StackOptions {
  cells?: number
  /** Catalogue laid over the coordinator's and the daemons' configuration. */
  catalogue?: object[]
  inference?: object
  /** More settings of the cells. */
  cellSettings?: object
  /** More settings of the coordinator. */
  settings?: object
  /** More environment of the coordinator, which has no egress by default. */
  env?: Record<string, string>
  /** A command that ends in running its own last arguments: those that start the coordinator. */
  wrap?: (stateDir: string) => readonly string[]
}

const root = resolve(import.meta.dirname, '..', '..')

/** One program of ours that can be killed and started again as it was. */
export class Process {
  readonly lines: string[] = []
  #program: string
  #args: () => string[]
  #env: Record<string, string>
  #wrap: readonly string[]
  #nodeFlags: readonly string[]
  #child: ChildProcess | undefined
  #listeners = new Set<(line: string) => void>()

  /** `wrap` is a command that ends in running its own last arguments. */
  constructor(
    program: string,
    args: () => string[],
    env: Record<string, string> = {},
    wrap: readonly string[] = [],
    nodeFlags: readonly string[] = [],
  ) {
    this.#program = program
    this.#args = args
    this.#env = env
    this.#wrap = wrap
    this.#nodeFlags = nodeFlags
  }

  /** Takes another program from the next start on. */
  useProgram(program: string): void {
    this.#program = program
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  start(): void {
    this.lines.length = 0
    const script = join(root, 'bin', `${this.#program}.mjs`)
    const node = [process.execPath, ...HEAP_FLAGS, ...this.#nodeFlags]
    const [command = '', ...words] = [...this.#wrap, ...node, script, ...this.#args()]
    const child = spawn(command, words, {
      // a test asks nobody outside of its machine
      env: { PATH: process.env.PATH, SHOAL_EGRESS: 'off', ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', line => {
        this.lines.push(line)
        for (const listener of this.#listeners) listener(line)
      })
  }

  /** Resolves with the first matching line since the start; rejects at the exit or the deadline. */
  line(pattern: RegExp): Promise<RegExpExecArray> {
    const found = this.lines.map(line => pattern.exec(line)).find(match => match !== null)
    if (found) return Promise.resolve(found)
    const { promise, resolve: done, reject } = Promise.withResolvers<RegExpExecArray>()
    const fail = (why: string): void =>
      reject(new Error(`${this.#program} ${why}:\n${this.lines.slice(-10).join('\n')}`))
    const listener = (line: string): void => {
      const match = pattern.exec(line)
      if (match !== null) done(match)
    }
    const onExit = (code: number | null): void => fail(`ended with ${code}`)
    this.#listeners.add(listener)
    this.#child?.once('exit', onExit)
    const deadline = setTimeout(() => fail(`has not said ${pattern}`), DEADLINE_MS)
    return promise.finally(() => {
      clearTimeout(deadline)
      this.#listeners.delete(listener)
      this.#child?.off('exit', onExit)
    })
  }

  /** Sends a signal that does not end the program, such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
    this.#requireNoSecrets()
  }

  /** Every test that runs a program also shows that its log has no secret. */
  #requireNoSecrets(): void {
    const leak = this.lines.find(line => hideMarkedSecrets(line) !== line)
    if (leak !== undefined) throw new Error(`${this.#program} has logged a secret: ${leak}`)
  }
}

export const startStack = async (options: StackOptions = {}): Promise<TestStack> => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-stack-'))
  const stateDir = join(folder, 'coordinator')
  const { catalogue, inference = {}, settings = {}, cellSettings = {} } = options
  const shared = catalogue === undefined ? {} : { catalogue }
  const coordinatorConfig = writeConfig(folder, 'coordinator.yaml', {
    ...shared,
    log: { level: 'info' },
    ...settings,
  })
  const cellConfig = writeConfig(folder, 'cell.yaml', {
    ...shared,
    inference,
    telemetry: { interval_seconds: 1 },
    ...cellSettings,
  })

  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const tokens: string[] = []
  for (let i = 0; i < (options.cells ?? 1); i++) {
    const once = { uses: 1, ttlMinutes: 10 }
    tokens.push((await createToken(store.ledger, once, { actor: 'test' })).secret)
  }
  await store.close()

  let port = '0'
  const coordinator = new Process(
    'shoal-coordinator',
    () => [
      ...['--config', coordinatorConfig],
      ...['--state-dir', stateDir],
      ...['--http-port', port],
    ],
    options.env ?? {},
    options.wrap?.(stateDir),
  )
  coordinator.start()
  const [, address = '', chosen = ''] = await coordinator.line(
    /"url":"(http:\/\/127\.0\.0\.1:(\d+))"/,
  )
  port = chosen

  const cells = tokens.map(
    (token, i) =>
      new Process(
        'shoald',
        () => [
          '--config',
          cellConfig,
          '--coordinator-url',
          address,
          '--state-dir',
          join(folder, `cell-${i}`),
        ],
        { SHOAL_COORDINATOR_JOIN_TOKEN: token, SHOAL_NAME: `cell-${i}` },
      ),
  )
  for (const cell of cells) cell.start()

  const healthNow = (): Promise<HealthAnswer | undefined> =>
    fetch(`${address}/v1/health`).then(
      response => response.json() as Promise<HealthAnswer>,
      () => undefined,
    )
  const waitForHealth = (isRight: (health: HealthAnswer) => boolean): Promise<HealthAnswer> =>
    waitUntil('the health that the test needs', async () => {
      const health = await healthNow()
      return health !== undefined && isRight(health) && health
    })
  const stop = async (): Promise<void> => {
    await Promise.all(cells.map(cell => cell.end('SIGTERM')))
    await coordinator.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const preloads = !('preload' in inference) || inference.preload !== false
  if (preloads) await Promise.all(cells.map(cell => cell.line(/"msg":"engine ready"/)))
  await waitForHealth(({ cells, status }) => cells === tokens.length && status === 'ok')
  const config = coordinatorConfig
  return { url: address, keys, folder, config, coordinator, cells, waitForHealth, stop }
}

const writeConfig = (folder: string, name: string, values: object): string => {
  const path = join(folder, name)
  writeFileSync(path, stringify(values))
  return path
}
