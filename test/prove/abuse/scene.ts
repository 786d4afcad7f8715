import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { CellLogin } from '../../../bench/fleet/simulated-cell.ts'
import { enrolCells } from '../../../bench/fleet/targets.ts'
import { readServiceEnv, readServiceFlags } from '../../../bench/measure.ts'
import { findFreePorts } from '../../../bin/up/ports.ts'
import { MEMORY_FOLDER } from '../../support/memory-folder.ts'
import { Process } from '../../support/stack.ts'
import { pause } from '../../support/wait-until.ts'
import { createKeys } from './create-keys.ts'
import type { Call } from './honest-client.ts'
import type { AbuseTarget } from './target.ts'

const LOGINS = 80
const HONEST_CELLS = 4
/** Cells that the honest client greets as, in turn: each may connect once a second. */
const GREETING_CELLS = 8
const READY_MS = 5000
/**
 * Priorities, so that attackers, and whatever else runs on the machine, take CPU time from the
 * coordinator only by what they ask of it. Without the right to raise it, the honest side has the
 * usual one.
 */
const ATTACKER_NICE = 15
const HONEST_NICE = -10
/** Descriptors of the coordinator, as many as most services get by default. */
const DESCRIPTORS = 1024

/** A coordinator with honest cells and an honest client, each as processes of their own. */
export class AbuseScene {
  readonly coordinator: Process
  /** Calls of the honest client so far. */
  readonly calls: Call[] = []
  readonly #folder: string
  readonly #attacker: Omit<AbuseTarget, 'logins'>
  readonly #logins: CellLogin[]
  #client: ChildProcess | undefined
  readonly #children = new Set<ChildProcess>()

  private constructor(parts: SceneParts) {
    this.#folder = parts.folder
    this.#attacker = parts.attacker
    this.#logins = parts.logins
    this.coordinator = parts.coordinator
  }

  static async start(): Promise<AbuseScene> {
    setGroupNice(HONEST_NICE)
    const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-abuse-'))
    const stateDir = join(folder, 'coordinator')
    const keys = await createKeys(stateDir)
    const logins = await enrolCells(stateDir, LOGINS)
    const [port = 0, mqttPort = 0] = await findFreePorts(2)
    const flags = [
      ...['--state-dir', stateDir, '--http-port', `${port}`],
      ...['--mqtt-enabled=true', '--mqtt-port', `${mqttPort}`],
      ...['--tiers-enterprise-requests-per-minute', '100000'],
    ]
    const limit = ['prlimit', `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`]
    const priority = mayRaise() ? ['nice', '-n', `${HONEST_NICE}`] : []
    const wrap = [...priority, ...limit]
    const coordinator = new Process(
      'shoal-coordinator',
      () => flags,
      readServiceEnv(),
      wrap,
      readServiceFlags(),
    )
    const attacker = { port, mqttPort, key: keys.attacker }
    const scene = new AbuseScene({ folder, logins, coordinator, attacker })
    try {
      await scene.#serve(keys.honest)
      return scene
    } catch (error) {
      await scene.stop()
      throw error
    }
  }

  /** Runs a program of the attackers; it is ready, or has had time to be, when this resolves. */
  async attack(
    program: 'attacker' | 'cell-process',
    options: object,
    cells = 0,
  ): Promise<ChildProcess> {
    const child = this.#fork(
      program,
      { ...options, target: this.#targetWith(cells) },
      ATTACKER_NICE,
    )
    await Promise.race([once(child, 'message'), pause(READY_MS)])
    return child
  }

  /** Resolves when every call of the honest client that has begun is among `calls`. */
  async drain(): Promise<void> {
    const drained = new Promise<void>(resolve => {
      const listen = (message: unknown): void => {
        if (message !== 'drained') return
        this.#client?.off('message', listen)
        resolve()
      }
      this.#client?.on('message', listen)
    })
    this.#client?.send('drain')
    await drained
  }

  async end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#children].map(child => this.end(child)))
    await this.coordinator.end('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
    setGroupNice(0)
  }

  async #serve(key: string): Promise<void> {
    this.coordinator.start()
    await this.coordinator.line(/coordinator is up/)
    const target = this.#targetWith(HONEST_CELLS)
    const cells = this.#fork('cell-process', { behaviour: 'honest', target })
    await once(cells, 'message')
    const [controlPort] = await once(this.#fork('control-server', {}), 'message')
    const known = { ...this.#targetWith(GREETING_CELLS), key, controlPort }
    this.#client = this.#fork('honest-client', known)
    await once(this.#client, 'message')
    this.#client.on('message', message => {
      if (message !== 'drained') this.calls.push(message as Call)
    })
  }

  /** Cells are given out once: what the coordinator holds against one is not held against others. */
  #targetWith(cells: number): AbuseTarget {
    return { ...this.#attacker, logins: this.#logins.splice(0, cells) }
  }

  #fork(
    program: string,
    options: object,
    nice: number = mayRaise() ? HONEST_NICE : 0,
  ): ChildProcess {
    const path = join(import.meta.dirname, `${program}.ts`)
    const child = fork(path, [JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#children.add(child)
    setPriority(child.pid ?? 0, nice)
    return child
  }
}

const AUTOGROUP = '/proc/self/autogroup'

/** Linux weighs sessions against each other first, and processes only within their session. */
const setGroupNice = (nice: number): void => {
  if (mayRaise() && existsSync(AUTOGROUP)) writeFileSync(AUTOGROUP, `${nice}`)
}

const mayRaise = (): boolean => process.getuid?.() === 0

interface SceneParts {
  folder: string
  logins: CellLogin[]
  coordinator: Process
  attacker: Omit<AbuseTarget, 'logins'>
}
