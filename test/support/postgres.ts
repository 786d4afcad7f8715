import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import type { Test } from 'tap'
import type { PostgresAddress } from '../../coordinator/kernel/store/postgres/connection.ts'
import { newId } from '../../shared/ids.ts'
import { MEMORY_FOLDER } from './memory-folder.ts'
import { pause } from './wait-until.ts'

/** Variable set by `npm test`: folder of the socket of the cluster that all test files share. */
export const SOCKET_FOLDER = 'SHOAL_TEST_POSTGRES'

/** Name of the database that new stores are copied from, and of the folder for those in files. */
export const EMPTY_STORE = 'empty_store'

/** Why tests with a real PostgreSQL cannot run here; false when they can. */
export const postgresMissing: string | false =
  process.env[SOCKET_FOLDER] === undefined ? 'PostgreSQL is not installed' : false

/** Debian keeps the programs of the server in a folder of their version. */
const findPrograms = (): string | undefined =>
  globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1)

/** A server with its data in a folder of its own; without durability unless settings say so. */
export class Cluster {
  /** Folder of the data and of the socket. */
  readonly folder: string
  readonly #programs: string
  readonly #settings: Record<string, string>
  readonly #user: { uid: number; gid: number } | undefined
  #server: ChildProcess | undefined

  /** PostgreSQL refuses to run as root, so root runs it as Debian's user `postgres`. */
  private constructor(programs: string, more: Record<string, string>) {
    this.#programs = programs
    this.#settings = { ...WITHOUT_DURABILITY, ...more }
    this.#user = process.getuid?.() === 0 ? userOf('postgres') : undefined
    this.folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-postgres-'))
    if (this.#user !== undefined) chownSync(this.folder, this.#user.uid, this.#user.gid)
    process.once('exit', () => this.#end('SIGQUIT'))
  }

  /** Undefined where PostgreSQL is not installed. */
  static async create(
    more: Record<string, string> = {},
    files: Record<string, string> = {},
  ): Promise<Cluster | undefined> {
    const programs = findPrograms()
    if (programs === undefined) return undefined
    const cluster = new Cluster(programs, more)
    cluster.#initialize()
    for (const [name, text] of Object.entries(files)) cluster.#write(name, text)
    await cluster.start()
    return cluster
  }

  /** A standby with the data of a running server, which it follows until it is cut off or promoted. */
  static async follow(primary: Cluster): Promise<Cluster> {
    const standby = new Cluster(primary.#programs, {})
    const made = spawnSync(
      join(primary.#programs, 'pg_basebackup'),
      [
        ...['-h', primary.folder, '-U', 'postgres', '-D', join(standby.folder, 'data')],
        ...['-R', '-c', 'fast', '--no-sync'],
      ],
      { ...standby.#user, cwd: standby.folder, encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`pg_basebackup: ${made.stderr}`)
    await standby.start()
    return standby
  }

  /** Cuts a standby off, as one that lags behind. */
  async cutOff(): Promise<void> {
    await administer(this.folder, "alter system set primary_conninfo = ''")
    await administer(this.folder, 'select pg_reload_conf()')
  }

  async promote(): Promise<void> {
    await administer(this.folder, 'select pg_promote()')
  }

  /**
   * Starts the server, also after `crash`; ready when this resolves. The processes of a server that was
   * killed end a moment later, and until then another one refuses to start.
   */
  async start(): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        return await this.#startOnce()
      } catch (error) {
        if (tries === MAX_STARTS) throw error
        await pause(200)
      }
  }

  async #startOnce(): Promise<void> {
    const args = ['-D', join(this.folder, 'data'), ...this.#flags()]
    const server = spawn(join(this.#programs, 'postgres'), args, {
      ...this.#user,
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#server = server
    await waitForReady(server)
  }

  /** Ends the server as `pg_ctl stop` does: `fast` writes everything down, `immediate` does not. */
  async shutDown(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  }

  /** Ends the server as a lost machine does. */
  async crash(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGQUIT')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  #flags(): string[] {
    const own = { listen_addresses: '', unix_socket_directories: this.folder }
    const all = Object.entries({ ...own, ...this.#settings })
    return all.flatMap(([name, value]) => ['-c', `${name}=${value}`])
  }

  #initialize(): void {
    const made = spawnSync(
      join(this.#programs, 'initdb'),
      ['--pgdata', join(this.folder, 'data'), ...INITDB],
      { ...this.#user, cwd: this.folder, encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  }

  /** Writes a file into the data folder, which only the server may read. */
  #write(name: string, text: string): void {
    const path = join(this.folder, 'data', name)
    writeFileSync(path, text, { mode: 0o600 })
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
}

/** The order of text differs from that of bytes, as on many servers. */
/** Starts until one succeeds; a fifth of a second lies between two. */
const MAX_STARTS = 50

const INITDB = [
  '--auth=trust',
  '--username=postgres',
  '--no-sync',
  '--encoding=UTF8',
  '--locale=C.UTF-8',
  '--locale-provider=icu',
  '--icu-locale=en-US',
]

const WITHOUT_DURABILITY = { fsync: 'off', full_page_writes: 'off', max_connections: '400' }

export const userOf = (name: string): { uid: number; gid: number } => {
  const idOf = (flag: string) => Number(spawnSync('id', [flag, name]).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

const waitForReady = async ({ stderr }: ChildProcess): Promise<void> => {
  if (stderr === null) throw new Error('the server has no output')
  for await (const line of createInterface({ input: stderr }))
    if (/ready to accept (read-only )?connections/.test(line)) {
      stderr.resume()
      return
    }
  throw new Error('PostgreSQL has ended')
}

/** A new and empty database, which is gone after the test. */
export const createDatabase = (t: Pick<Test, 'teardown'>): Promise<PostgresAddress> =>
  createFrom(t, 'template1')

/** A new database with an empty store, which is gone after the test. */
export const createStoreDatabase = (t: Pick<Test, 'teardown'>): Promise<PostgresAddress> =>
  createFrom(t, EMPTY_STORE)

const createFrom = async (
  t: Pick<Test, 'teardown'>,
  template: string,
): Promise<PostgresAddress> => {
  const folder = process.env[SOCKET_FOLDER] as string
  const database = newId('db').toLowerCase()
  await administer(folder, `create database "${database}" ${copyOf(template)}`)
  t.teardown(() => administer(folder, `drop database "${database}" with (force)`))
  return addressOf(folder, database)
}

const created = new Map<string, Promise<PostgresAddress>>()

/** The database that stands for a folder; it is gone with the cluster. */
export const databaseFor = (folder: string): Promise<PostgresAddress> => {
  const address = created.get(folder) ?? createFor(folder)
  created.set(folder, address)
  return address
}

const createFor = async (folder: string): Promise<PostgresAddress> => {
  const socket = process.env[SOCKET_FOLDER] as string
  const database = `folder_${hash('sha1', folder)}`
  await administer(socket, `create database "${database}" ${copyOf(EMPTY_STORE)}`)
  return addressOf(socket, database)
}

/** Files are copied, which is twice as fast as the log of what they contain. */
const copyOf = (template: string): string => `template ${template} strategy file_copy`

const addressOf = (host: string, database: string): PostgresAddress => ({
  host,
  user: 'postgres',
  database,
})

/** Runs a statement as the owner of the cluster. */
export const administer = async (
  socket: string,
  statement: string,
  database = 'postgres',
): Promise<void> => {
  const client = new Client(addressOf(socket, database))
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Runs a statement as the owner of the cluster that the test files share. */
export const administerTests = (statement: string): Promise<void> =>
  administer(process.env[SOCKET_FOLDER] as string, statement)
