import { join } from 'node:path'
import * as z from 'zod'
import { replacePrivate } from '../../shared/private-file.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { openLog } from './log.ts'
import { type LogEntry, Member, type MemberOptions } from './member.ts'
import type { UpOptions } from './options.ts'
import { type Addresses, readyText, removeReadyFile } from './ready-file.ts'
import { bannerText, type LaunchScreen } from './screen.ts'
import { waitUntilServing } from './serving.ts'
import {
  cellFolder,
  coordinatorFolder,
  joinToken,
  keysFileOf,
  type LaunchState,
  logFolder,
} from './state.ts'

interface StackParts {
  options: UpOptions
  state: LaunchState
  screen: LaunchScreen
  env: Record<string, string | undefined>
  /** Folder of the project. */
  root: string
  /** Requests an orderly stop. */
  stop: AbortSignal
  /** Kills the remaining processes at once. */
  hurry: AbortSignal
  wait?: Wait
}

/** Time after which a process that has not stopped by itself is killed. */
const STOP_TIMEOUT_MS = 45_000

/** The coordinator and the cells of one launcher. */
export class Stack {
  readonly #parts: StackParts
  readonly #coordinator: Member
  readonly #cells: Member[]
  /**
   * Addresses from the ready line of our own coordinator, so no other server is mistaken for it.
   */
  #addresses: Addresses | undefined
  /** Waits until requests are answered; ends when a child ends. */
  #serving = new AbortController()
  readonly #failed = Promise.withResolvers<never>()
  #wasUp = false
  #modelsReady = 0

  constructor(parts: StackParts) {
    this.#parts = parts
    this.#coordinator = this.#member('shoal-coordinator', 'shoal-coordinator', {
      invocation: async () => ({ args: this.#coordinatorArgs(), env: parts.env }),
      isReady: entry => this.#coordinatorIsUp(entry),
    })
    const numbers = Array.from({ length: parts.options.cells }, (_, index) => index + 1)
    this.#cells = numbers.map(cell =>
      this.#member(`shoald cell-${cell}`, 'shoald', {
        invocation: () => this.#cellInvocation(cell),
        isReady: entry => this.#modelsAreLoaded(entry),
      }),
    )
  }

  /** Resolves after `stop`, when every child has ended; rejects when one cannot be started. */
  async run(): Promise<void> {
    const { stop, hurry, screen, options } = this.#parts
    const stopped = new Promise<void>(resolve => {
      if (stop.aborted) resolve()
      stop.addEventListener('abort', () => resolve(), { once: true })
    })
    hurry.addEventListener('abort', () => this.#killAll(), { once: true })
    screen.progress('starting the coordinator')
    this.#start(this.#coordinator)
    try {
      await Promise.race([stopped, this.#failed.promise])
    } finally {
      this.#serving.abort()
      if (options.readyFile !== undefined) removeReadyFile(options.readyFile)
      await this.#stopAll()
      // The file may have been written meanwhile
      if (options.readyFile !== undefined) removeReadyFile(options.readyFile)
    }
  }

  #start(member: Member): void {
    member.run().catch(this.#failed.reject)
  }

  /** The coordinator first: it lets running answers end, and the cells give them. */
  async #stopAll(): Promise<void> {
    const deadline = setTimeout(() => this.#killAll(), STOP_TIMEOUT_MS)
    await this.#coordinator.stop()
    await Promise.all(this.#cells.map(cell => cell.stop()))
    clearTimeout(deadline)
  }

  #killAll(): void {
    for (const member of [this.#coordinator, ...this.#cells]) member.kill()
  }

  #member(
    name: string,
    program: string,
    how: Pick<MemberOptions, 'invocation' | 'isReady'>,
  ): Member {
    const { root, state, screen, wait = realWait } = this.#parts
    const file = `${name.split(' ').at(-1)}.log`
    return new Member({
      ...how,
      name,
      script: join(root, 'bin', `${program}.mjs`),
      log: openLog(join(logFolder(state.folder), file), screen.say),
      onChange: () => this.#onChange(),
      tell: screen.say,
      wait,
      nowMs: () => performance.now(),
    })
  }

  /** A restarted coordinator takes the ports that it had, which were free ones perhaps. */
  #coordinatorArgs(): string[] {
    const { options, state } = this.#parts
    const { baseUrl, mqttUrl } = this.#addresses ?? {}
    const mqttPort = portOf(mqttUrl) ?? options.mqttPort
    return [
      ...['--http-host', '127.0.0.1', '--http-port', `${portOf(baseUrl) ?? options.port}`],
      ...['--state-dir', coordinatorFolder(state.folder), '--log-level', 'info'],
      ...(mqttPort === undefined ? [] : ['--mqtt-enabled', 'true', '--mqtt-port', `${mqttPort}`]),
    ]
  }

  async #cellInvocation(cell: number) {
    const { state, env } = this.#parts
    const token = await joinToken(state.folder, cell)
    return {
      args: [
        ...['--coordinator-url', this.#addresses?.baseUrl ?? '', '--name', `cell-${cell}`],
        ...['--state-dir', cellFolder(state.folder, cell), '--log-level', 'info'],
      ],
      env: { ...env, ...(token === undefined ? {} : { SHOAL_COORDINATOR_JOIN_TOKEN: token }) },
    }
  }

  #coordinatorIsUp(entry: LogEntry): boolean {
    const up = Up.safeParse(entry)
    if (!up.success) return false
    this.#addresses = { baseUrl: up.data.url, mqttUrl: up.data.mqtt_url }
    for (const cell of this.#cells) this.#start(cell)
    return true
  }

  #modelsAreLoaded(entry: LogEntry): boolean {
    const { screen } = this.#parts
    if (entry.msg === 'engine ready') this.#modelsReady++
    if (entry.msg === 'engine failed') screen.say(`${entry.weights}: ${entry.reason}`)
    if (!this.#wasUp) screen.progress(`loading the models (${this.#modelsReady} ready)`)
    return isSettled(entry)
  }

  #onChange(): void {
    this.#serving.abort()
    if (![this.#coordinator, ...this.#cells].every(member => member.ready)) return
    this.#serving = new AbortController()
    const { signal } = this.#serving
    // Every member is ready, so the coordinator has reported its addresses
    const { baseUrl } = this.#addresses as Addresses
    const { options, wait = realWait } = this.#parts
    void waitUntilServing(baseUrl, options.cells, wait, signal).then(() =>
      signal.aborted ? undefined : this.#isUp(),
    )
  }

  async #isUp(): Promise<void> {
    const { options, state, screen } = this.#parts
    const addresses = this.#addresses as Addresses
    const pids = { coordinator: this.#coordinator.pid, cells: this.#cells.map(({ pid }) => pid) }
    if (options.readyFile !== undefined)
      await replacePrivate(options.readyFile, readyText(addresses, state.keys, pids)).catch(
        (error: Error) => screen.say(error.message),
      )
    screen.say(this.#wasUp ? 'everything is up again' : this.#banner(addresses))
    this.#wasUp = true
  }

  #banner(addresses: Addresses): string {
    const { keys, folder } = this.#parts.state
    const files = { keysFile: keysFileOf(folder), logs: logFolder(folder) }
    return bannerText({ ...addresses, ...files, keys, cells: this.#cells.length })
  }
}

/**
 * True for the log line a daemon writes once it loads nothing more; a failed model is logged
 * earlier.
 */
const isSettled = ({ msg }: LogEntry): boolean =>
  msg === 'models are loaded' ||
  msg === 'not all models are loaded' ||
  msg === 'models are loaded when they are asked for'

const Up = z.object({
  msg: z.literal('coordinator is up'),
  url: z.url(),
  mqtt_url: z.url().optional(),
})

const portOf = (url: string | undefined): string | undefined => /:(\d+)$/.exec(url ?? '')?.[1]
