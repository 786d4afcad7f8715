import { join } from 'node:path'
import { replacePrivate } from '../../shared/private-file.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { Balancer } from './balancer/balancer.ts'
import type { BalancedEntry } from './entry.ts'
import { coordinatorArgs, invokeCell, replicaArgs, soleArgs } from './invocations.ts'
import { lanJoinLine, lanUrl, trustCoordinator } from './lan.ts'
import { openLog } from './log.ts'
import { LogReports } from './log-reports.ts'
import { isSettled, Up } from './log-signs.ts'
import { type LogEntry, Member, type MemberOptions } from './member.ts'
import type { UpOptions } from './options.ts'
import { type Addresses, readyText, removeReadyFile } from './ready-file.ts'
import { bannerText, type LaunchScreen } from './screen.ts'
import { waitUntilServing } from './serving.ts'
import { keysFileOf, type LaunchState, logFolder } from './state.ts'

interface StackParts {
  options: UpOptions
  state: LaunchState
  /** Several coordinators; undefined for one. */
  entry: BalancedEntry | undefined
  /** Flags of a coordinator that name the store. */
  storeFlags: readonly string[]
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

/** The coordinators, their balancer and the cells of one launcher. */
export class Stack {
  readonly #parts: StackParts
  readonly #coordinators: Member[]
  /** Balancers between clients and several coordinators. */
  readonly #balancers: Member[]
  readonly #cells: Member[]
  /**
   * Addresses from the ready line of our own coordinator, so no other server is mistaken for it, or
   * of the balancer.
   */
  #addresses: Addresses | undefined
  /** Waits until requests are answered; ends when a child ends. */
  #serving = new AbortController()
  readonly #failed = Promise.withResolvers<never>()
  #wasUp = false
  #modelsReady = 0

  constructor(parts: StackParts) {
    this.#parts = parts
    const { entry } = parts
    this.#coordinators =
      entry === undefined
        ? [this.#coordinator('', () => soleArgs(parts, this.#addresses))]
        : entry.replicas.map(replica => this.#coordinator(replica.name, () => replicaArgs(replica)))
    this.#balancers = entry === undefined ? [] : [this.#balancer(entry.balancer)]
    if (entry !== undefined) this.#addresses = addressesOf(entry.baseUrl)
    const numbers = Array.from({ length: parts.options.cells }, (_, index) => index + 1)
    this.#cells = numbers.map(cell =>
      this.#member(`shoald cell-${cell}`, this.#script('shoald'), {
        // it starts when the coordinator has reported its addresses
        invocation: () => invokeCell(parts, cell, this.#addresses as Addresses),
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
    const several = this.#coordinators.length > 1
    screen.progress(`starting the ${several ? 'coordinators' : 'coordinator'}`)
    for (const coordinator of this.#coordinators) this.#start(coordinator)
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

  /** Coordinators first: they let running answers end, which come from cells by the balancer. */
  async #stopAll(): Promise<void> {
    const deadline = setTimeout(() => this.#killAll(), STOP_TIMEOUT_MS)
    for (const group of [this.#coordinators, this.#balancers, this.#cells])
      await Promise.all(group.map(member => member.stop()))
    clearTimeout(deadline)
  }

  #killAll(): void {
    for (const member of this.#members()) member.kill()
  }

  #members(): Member[] {
    return [...this.#coordinators, ...this.#balancers, ...this.#cells]
  }

  /** `name` tells several apart. */
  #coordinator(name: string, args: () => string[]): Member {
    const { env, storeFlags, state } = this.#parts
    const common = () => [...coordinatorArgs(state.folder), ...storeFlags]
    return this.#member(`shoal-coordinator ${name}`.trim(), this.#script('shoal-coordinator'), {
      invocation: async () => ({ args: [...common(), ...args()], env }),
      isReady: entry => this.#coordinatorIsUp(entry),
    })
  }

  #balancer({ program, args, isReady }: Balancer): Member {
    const { env } = this.#parts
    return this.#member('balancer', program, { invocation: async () => ({ args, env }), isReady })
  }

  #script(program: string): MemberOptions['program'] {
    return [process.execPath, join(this.#parts.root, 'bin', `${program}.mjs`)]
  }

  #member(
    name: string,
    program: MemberOptions['program'],
    how: Pick<MemberOptions, 'invocation' | 'isReady'>,
  ): Member {
    const { state, screen, wait = realWait } = this.#parts
    const file = `${name.split(' ').at(-1)}.log`
    const reports = new LogReports(screen.say)
    return new Member({
      ...how,
      isReady: entry => {
        reports.onEntry(entry)
        return how.isReady(entry)
      },
      name,
      program,
      log: openLog(join(logFolder(state.folder), file), screen.say),
      onChange: () => this.#onChange(),
      tell: screen.say,
      wait,
      nowMs: () => performance.now(),
    })
  }

  #coordinatorIsUp(entry: LogEntry): boolean {
    const up = Up.safeParse(entry)
    if (!up.success) return false
    if (this.#parts.entry === undefined) this.#takeAddresses(up.data)
    for (const member of [...this.#balancers, ...this.#cells]) this.#start(member)
    return true
  }

  #takeAddresses({ url, mqtt_url, ca_file }: Up): void {
    const { lan } = this.#parts.options
    const { port } = new URL(url)
    this.#addresses =
      lan === undefined
        ? addressesOf(url, mqtt_url)
        : {
            ...addressesOf(lanUrl(lan, port), mqtt_url, ca_file),
            localUrl: `https://127.0.0.1:${port}`,
          }
    if (ca_file !== undefined) trustCoordinator(ca_file)
  }

  #modelsAreLoaded(entry: LogEntry): boolean {
    const { screen } = this.#parts
    if (entry.msg === 'engine ready') this.#modelsReady++
    if (!this.#wasUp) screen.progress(`loading the models (${this.#modelsReady} ready)`)
    return isSettled(entry)
  }

  #onChange(): void {
    this.#serving.abort()
    if (!this.#members().every(member => member.ready)) return
    this.#serving = new AbortController()
    const { signal } = this.#serving
    // Every member is ready, so the coordinator has reported its addresses
    const { localUrl } = this.#addresses as Addresses
    const { options, entry, wait = realWait } = this.#parts
    const urls = [localUrl, ...(entry?.replicas ?? []).map(({ url }) => url)]
    const serving = urls.map(url => waitUntilServing(url, options.cells, wait, signal))
    Promise.all(serving)
      .then(() => (signal.aborted ? undefined : this.#isUp()))
      .catch(this.#failed.reject)
  }

  async #isUp(): Promise<void> {
    const { options, screen } = this.#parts
    const addresses = this.#addresses as Addresses
    if (options.readyFile !== undefined)
      await replacePrivate(options.readyFile, this.#readyText(addresses)).catch((error: Error) =>
        screen.say(error.message),
      )
    screen.say(this.#wasUp ? 'everything is up again' : await this.#banner(addresses))
    this.#wasUp = true
  }

  #readyText(addresses: Addresses): string {
    const { state, entry } = this.#parts
    const coordinators = this.#coordinators.map(({ pid }) => pid)
    const pids = { coordinator: coordinators[0] ?? 0, cells: this.#cells.map(({ pid }) => pid) }
    const replicas = entry?.replicas.map(({ name, url }, index) => ({
      name,
      url,
      pid: coordinators[index] ?? 0,
    }))
    return readyText(addresses, state.keys, pids, replicas)
  }

  async #banner(addresses: Addresses): Promise<string> {
    const { options, state, entry } = this.#parts
    const { keys, folder } = state
    const files = { keysFile: keysFileOf(folder), logs: logFolder(folder) }
    const replicas = entry && { balancer: entry.balancer.name, addresses: entry.replicas }
    const cells = this.#cells.length
    const joinLine = options.lan && (await lanJoinLine(state, addresses))
    const { devices } = options
    return bannerText({ ...addresses, ...files, keys, cells, devices, replicas, joinLine })
  }
}

const addressesOf = (baseUrl: string, mqttUrl?: string, caFile?: string): Addresses => ({
  baseUrl,
  localUrl: baseUrl,
  mqttUrl,
  caFile,
})
