import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Forwarder, startForwarder } from '../../../bin/up/balancer/forward.ts'
import { findFreePorts } from '../../../bin/up/ports.ts'
import { shareSealingKey } from '../../../bin/up/sealing-key.ts'
import { createToken } from '../../../coordinator/enrolment/join-tokens.ts'
import { bootstrap, type DemoKeys } from '../../../coordinator/keys/bootstrap.ts'
import { openStore, type Store } from '../../../coordinator/store/store.ts'
import { administer, Cluster } from '../../support/postgres.ts'
import { Process } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type EchoCell, echoCell } from './echo-cell.ts'

export interface ReplicaSetPlan {
  /** Coordinators; three by default. */
  count?: number
  /** Flags of each coordinator. */
  flags?: readonly string[]
  /** Simulated cells; each dials one coordinator first, in turn. */
  cells?: number
  /** Settings of PostgreSQL. */
  settings?: Record<string, string>
}

export interface ReplicaProcess {
  process: Process
  url: string
}

/** Coordinators as processes on one PostgreSQL of their own, behind a forwarder in this process. */
export class ReplicaSet {
  readonly folder: string
  readonly cluster: Cluster
  /** The store, opened beside the coordinators. */
  readonly store: Store
  readonly keys: DemoKeys
  readonly replicas: readonly ReplicaProcess[]
  /** Address of the forwarder. */
  readonly url: string
  cells: readonly EchoCell[] = []
  readonly #forwarder: Forwarder

  private constructor(parts: ReplicaSetParts) {
    const { folder, cluster, store, keys, replicas, forwarder } = parts
    this.folder = folder
    this.cluster = cluster
    this.store = store
    this.keys = keys
    this.replicas = replicas
    this.#forwarder = forwarder
    this.url = urlOf(forwarder.port)
  }

  /** Everything serves when this resolves. */
  static async start(plan: ReplicaSetPlan = {}): Promise<ReplicaSet> {
    const { count = 3, flags = [], settings = {}, cells = count } = plan
    const folder = mkdtempSync(join(tmpdir(), 'shoal-replicas-'))
    const cluster = await Cluster.create(settings)
    if (cluster === undefined) throw new Error('PostgreSQL is not installed')
    await administer(cluster.folder, 'create database shoal')
    const place = { host: cluster.folder, user: 'postgres', database: 'shoal' }
    const store = await openStore(place, { pollMilliseconds: 0 })
    const { keys } = await bootstrap(store)
    const ports = await findFreePorts(count)
    const folders = ports.map((_, index) => join(folder, `coordinator-${index + 1}`))
    await shareSealingKey(folders)
    const replicas = ports.map((port, index) => ({
      url: urlOf(port),
      process: new Process('shoal-coordinator', () => [
        ...['--state-dir', folders[index] as string, '--http-port', `${port}`],
        ...['--store-url', storeUrl(cluster), '--replica-address', urlOf(port), ...flags],
      ]),
    }))
    const forwarder = await startForwarder(0, ports)
    const set = new ReplicaSet({ folder, cluster, store, keys, replicas, forwarder })
    try {
      await set.#serve(cells)
      return set
    } catch (error) {
      await set.stop()
      throw error
    }
  }

  replica(index: number): ReplicaProcess {
    return this.replicas[index % this.replicas.length] as ReplicaProcess
  }

  servedCount(): number {
    return this.cells.reduce((sum, cell) => sum + cell.servedCount(), 0)
  }

  /** Starts a coordinator that has ended; it is up when this resolves. */
  async restart(index: number): Promise<void> {
    const { process } = this.replica(index)
    process.start()
    await process.line(/coordinator is up/)
  }

  /** Kills a coordinator with kill -9 and starts it again. */
  async killAndRestart(index: number): Promise<void> {
    await this.replica(index).process.end('SIGKILL')
    await this.restart(index)
  }

  async stop(): Promise<void> {
    await Promise.all(this.cells.map(cell => cell.stop()))
    await Promise.all(this.replicas.map(({ process }) => process.end('SIGKILL')))
    await this.#forwarder.close()
    await this.store.close()
    await this.cluster.stop()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #serve(cells: number): Promise<void> {
    await Promise.all(this.replicas.map((_, index) => this.restart(index)))
    this.cells = await Promise.all(
      Array.from({ length: cells }, (_, index) => this.#addCell(index)),
    )
    if (cells === 0) return
    for (const { url } of this.replicas)
      await waitUntil(`${url} serves a model`, () => hasModels(url), 100)
  }

  async #addCell(index: number): Promise<EchoCell> {
    const once = { uses: 1, ttlMinutes: 10 }
    const { secret } = await createToken(this.store.ledger, once, { actor: 'prove' })
    return echoCell(this.replica(index).url, join(this.folder, `cell-${index + 1}`), secret)
  }
}

interface ReplicaSetParts extends Pick<ReplicaSet, 'folder' | 'cluster' | 'store' | 'keys'> {
  replicas: readonly ReplicaProcess[]
  forwarder: Forwarder
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`

const storeUrl = ({ folder }: Cluster): string =>
  `postgres://postgres@localhost/shoal?host=${folder}`

const hasModels = async (url: string): Promise<boolean> => {
  const health = (await (await fetch(`${url}/v1/health`)).json()) as { models: number }
  return health.models > 0
}
