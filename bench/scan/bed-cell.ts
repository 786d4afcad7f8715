import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import type { LanBed } from '../../test/support/lan-bed/lan-bed.ts'
import { Process } from '../../test/support/stack.ts'

const STALLS = join(import.meta.dirname, 'stalls.ts')
const CALL = join(import.meta.dirname, 'call.ts')

/** How late the event loop of the daemon was, milliseconds. */
export interface Stalls {
  p99: number
  max: number
  /** Most CPU time of the thread from one tick to the next. */
  cpuMs: number
}

export interface CallReport {
  status: number
  ms: number
  findings: number
  failed: string[]
}

type Access = readonly [url: string, key: string]

/** A real coordinator and a real daemon on the scanner of a bed. */
export class BedCell {
  readonly #bed: LanBed
  readonly #folder: string
  readonly #coordinator: Process
  readonly #daemon: Process
  readonly #access: Access

  private constructor(
    bed: LanBed,
    folder: string,
    processes: readonly [Process, Process],
    access: Access,
  ) {
    this.#bed = bed
    this.#folder = folder
    ;[this.#coordinator, this.#daemon] = processes
    this.#access = access
  }

  /** `discovery` is the section of the daemon's configuration; `flags` are those of its Node. */
  static async start(bed: LanBed, discovery: object, flags: readonly string[]): Promise<BedCell> {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-bed-cell-'))
    const stateDir = join(folder, 'coordinator')
    const store = await openStore(stateDir)
    const { keys } = await bootstrap(store)
    const { secret } = await createToken(
      store.ledger,
      { uses: 1, ttlMinutes: 10 },
      { actor: 'bench' },
    )
    await store.close()
    const inside = ['ip', 'netns', 'exec', bed.lab.namespaceOf('scanner')]
    const coordinator = new Process(
      'shoal-coordinator',
      () => ['--state-dir', stateDir, '--http-port', '0'],
      {},
      inside,
    )
    coordinator.start()
    const [, url = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/)
    const config = join(folder, 'cell.yaml')
    writeFileSync(config, stringify({ inference: { preload: false }, discovery }))
    const daemon = new Process(
      'shoald',
      () => ['--config', config, '--coordinator-url', url, '--state-dir', join(folder, 'cell')],
      { SHOAL_COORDINATOR_JOIN_TOKEN: secret },
      // its thread goes before all other processes, also its helpers, which are not what is measured
      [...inside, 'chrt', '--reset-on-fork', '--fifo', '10'],
      ['--import', STALLS, ...flags],
    )
    daemon.start()
    const cell = new BedCell(bed, folder, [coordinator, daemon], [url, keys.operator])
    await cell.#waitUntilReady()
    return cell
  }

  async call(skill: string, input: object): Promise<CallReport> {
    const given = [CALL, ...this.#access, skill, JSON.stringify(input)]
    return JSON.parse(await this.#bed.run(process.execPath, ...given))
  }

  /** Stalls of the daemon's event loop since the last time that they were taken. */
  async takeStalls(): Promise<Stalls> {
    this.#daemon.lines.length = 0
    process.kill(this.#daemon.pid, 'SIGUSR2')
    const [line] = await this.#daemon.line(/^\{"msg":"stalls".*/)
    return JSON.parse(line)
  }

  async stop(): Promise<void> {
    await this.#daemon.end('SIGTERM')
    await this.#coordinator.end('SIGTERM')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** The cell is connected once it runs a module. */
  async #waitUntilReady(): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      const { findings } = await this.call('network-map', {})
      if (findings > 0) return
    }
    throw new Error(`the cell does not connect:\n${this.#daemon.lines.slice(-5).join('\n')}`)
  }
}
