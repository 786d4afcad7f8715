import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Forwarder, startForwarder } from '../../../bin/up/balancer/forward.ts'
import { findFreePorts } from '../../../bin/up/ports.ts'
import { shareSealingKey } from '../../../bin/up/sealing-key.ts'
import { bootstrap, type DemoKeys } from '../../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../../coordinator/fleet/enrolment/join-tokens.ts'
import type { PostgresAddress } from '../../../coordinator/kernel/store/postgres/connection.ts'
import { openStore, type Store } from '../../../coordinator/kernel/store/store.ts'
import {
  administer,
  Cluster,
  createStoreDatabase,
  postgresMissing,
} from '../../support/postgres.ts'
import { Process } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type EchoCell, echoCell } from './echo-cell.ts'
import type { Network } from './network.ts'
import { planNetworks } from './networks.ts'

interface ReplicaSetPlan {
  /** Coordinators; three by default. */
  count?: number
  /** Flags of each coordinator. */
  flags?: readonly string[]
  /** Simulated cells; each dials one coordinator first, in turn. */
  cells?: number
  /** A standby follows PostgreSQL, and coordinators go to it once it is promoted. */
  hasStandby?: boolean
  /** Settings of PostgreSQL. */
  settings?: Record<string, string>
  /** Flag of a set on the PostgreSQL that `npm test` has started for all files, if it has. */
  isOnSharedCluster?: boolean
  /** Each coordinator reaches PostgreSQL by a network of its own, which can be cut. */
  hasNetworks?: boolean
  /** Program of a coordinator; that of this tree by default. */
  programOf?: (index: number) => string
  /** More environment of a coordinator, by its index. */
  envOf?: (index: number) => Record<string, string>
}

export interface ReplicaProcess {
  process: Process
  url: string
  /** Connection to PostgreSQL, with `hasNetworks`. */
  network: Network | undefined
}

/** Coordinators as processes on one PostgreSQL of their own, behind a forwarder in this process. */
export class ReplicaSet {
  readonly folder: string
  readonly #database: Database
  /** The store, opened beside the coordinators. */
  readonly store: Store
  readonly keys: DemoKeys
  readonly replicas: readonly ReplicaProcess[]
  /** Address of the forwarder. */
  readonly url: string
  cells: readonly EchoCell[] = []
  readonly #forwarder: Forwarder
  readonly #closers: (() => unknown)[]

  private constructor(parts: ReplicaSetParts) {
    const { folder, database, store, keys, replicas, forwarder, closers } = parts
    this.folder = folder
    this.#database = database
    this.store = store
    this.keys = keys
    this.replicas = replicas
    this.#forwarder = forwarder
    this.#closers = closers
    this.url = urlOf(forwarder.port)
  }

  /** Everything serves when this resolves. */
  static async start(plan: ReplicaSetPlan = {}): Promise<ReplicaSet> {
    const { count = 3, cells = count } = plan
    const folder = mkdtempSync(join(tmpdir(), 'shoal-replicas-'))
    const networks = plan.hasNetworks ? planNetworks(count) : undefined
    const database =
      plan.isOnSharedCluster && !postgresMissing
        ? await shareDatabase()
        : await ownDatabase(plan, networks)
    const store = await openStore(database.address, { pollMilliseconds: 0 })
    const { keys } = await bootstrap(store)
    const ports = await findFreePorts(count)
    const folders = ports.map((_, index) => join(folder, `coordinator-${index + 1}`))
    await shareSealingKey(folders)
    const closers: (() => unknown)[] = []
    const replicas: ReplicaProcess[] = []
    for (const [index, port] of ports.entries()) {
      const network = database.cluster && (await networks?.open(database.cluster, port))
      if (network !== undefined) closers.push(() => network.close())
      const stateDir = folders[index] as string
      replicas.push(
        createReplica(plan, { index, port, stateDir, address: database.address, network }),
      )
    }
    const forwarder = await startForwarder(0, ports)
    const parts = { folder, database, store, keys, replicas, forwarder, closers }
    const set = new ReplicaSet(parts)
    try {
      await set.#serve(cells)
      return set
    } catch (error) {
      await set.stop()
      throw error
    }
  }

  /** PostgreSQL of this set alone. */
  get cluster(): Cluster {
    const { cluster } = this.#database
    if (cluster === undefined) throw new Error('these coordinators share their PostgreSQL')
    return cluster
  }

  get standby(): Cluster | undefined {
    return this.#database.standby
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
    for (const close of this.#closers) await close()
    await this.store.close()
    await this.#database.close()
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

interface ReplicaSetParts extends Pick<ReplicaSet, 'folder' | 'store' | 'keys'> {
  database: Database
  replicas: readonly ReplicaProcess[]
  forwarder: Forwarder
  closers: (() => unknown)[]
}

/** The store of a set. */
interface Database {
  address: PostgresAddress
  cluster?: Cluster
  standby?: Cluster | undefined
  close: () => Promise<unknown>
}

/** An empty store in the PostgreSQL that all test files share. */
const shareDatabase = async (): Promise<Database> => {
  let close = async (): Promise<unknown> => undefined
  const address = await createStoreDatabase({
    teardown: drop => {
      close = async () => drop()
    },
  })
  return { address, close: () => close() }
}

const ownDatabase = async (
  { settings, hasStandby }: ReplicaSetPlan,
  networks: ReturnType<typeof planNetworks> | undefined,
): Promise<Database> => {
  const cluster = await Cluster.create({ ...networks?.settings, ...settings }, networks?.files)
  if (cluster === undefined) throw new Error('PostgreSQL is not installed')
  await administer(cluster.folder, 'create database shoal')
  const standby = hasStandby ? await Cluster.follow(cluster) : undefined
  const host = [cluster, standby].flatMap(each => each?.folder ?? []).join()
  const close = async (): Promise<void> => {
    await standby?.stop()
    await cluster.stop()
  }
  return { address: { host, user: 'postgres', database: 'shoal' }, cluster, standby, close }
}

const createReplica = (
  { flags = [], envOf, programOf = () => 'shoal-coordinator' }: ReplicaSetPlan,
  { index, port, stateDir, address, network }: ReplicaPlace,
): ReplicaProcess => {
  const { database, host } = address
  const store = network
    ? `127.0.0.1:${network.storePort}/${database}`
    : `localhost/${database}?host=${host}`
  const args = [
    ...['--state-dir', stateDir, '--http-port', `${port}`, '--replica-address', urlOf(port)],
    ...['--store-url', `postgres://postgres@${store}`, ...flags],
  ]
  const process = new Process(programOf(index), () => args, envOf?.(index), network?.wrap)
  return { url: urlOf(port), process, network }
}

interface ReplicaPlace {
  index: number
  port: number
  stateDir: string
  address: PostgresAddress
  network: Network | undefined
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`

const hasModels = async (url: string): Promise<boolean> => {
  const health = (await (await fetch(`${url}/v1/health`)).json()) as { models: number }
  return health.models > 0
}
