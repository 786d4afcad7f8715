import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import type { Test } from 'tap'
import type { PostgresAddress } from '../../coordinator/store/postgres/pool.ts'
import { newId } from '../../shared/ids.ts'

/** Set by `npm test`: folder of the socket of the cluster that all test files share. */
const SOCKET_FOLDER = 'SHOAL_TEST_POSTGRES'

/** Why tests with a real PostgreSQL cannot run here; false when they can. */
export const postgresMissing: string | false =
  process.env[SOCKET_FOLDER] === undefined ? 'PostgreSQL is not installed' : false

/** Debian keeps the programs of the server in a folder of their version. */
const findPrograms = (): string | undefined =>
  globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1)

export interface Cluster {
  /** Environment of the tests that use it. */
  env: Record<string, string>
  stop(): Promise<void>
}

/**
 * Starts a cluster without durability; undefined where PostgreSQL is not installed. It refuses to
 * run as root, so root starts it as Debian's user `postgres`.
 */
export const startCluster = async (): Promise<Cluster | undefined> => {
  const programs = findPrograms()
  if (programs === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'shoal-postgres-'))
  const user = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const made = spawnSync(join(programs, 'initdb'), ['--pgdata', data, ...INITDB], {
    ...user,
    cwd: folder,
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings(folder)], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = (): void => void server.kill('SIGQUIT')
  process.once('exit', end)
  await waitForReady(server)
  return {
    env: { [SOCKET_FOLDER]: folder },
    stop: async () => {
      const ended = once(server, 'exit')
      end()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** With an order of text that differs from that of bytes, as many servers have. */
const INITDB = [
  '--auth=trust',
  '--username=postgres',
  '--no-sync',
  '--encoding=UTF8',
  '--locale=C.UTF-8',
  '--locale-provider=icu',
  '--icu-locale=en-US',
]

const settings = (folder: string): string[] =>
  Object.entries({
    listen_addresses: '',
    unix_socket_directories: folder,
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '400',
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])

const userOf = (name: string): { uid: number; gid: number } => {
  const idOf = (flag: string) => Number(spawnSync('id', [flag, name]).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

const waitForReady = async ({ stderr }: ChildProcess): Promise<void> => {
  if (stderr === null) throw new Error('the server has no output')
  for await (const line of createInterface({ input: stderr }))
    if (line.includes('ready to accept connections')) {
      stderr.resume()
      return
    }
  throw new Error('PostgreSQL has ended')
}

/** A new and empty database, which is gone after the test. */
export const createDatabase = async (t: Pick<Test, 'teardown'>): Promise<PostgresAddress> => {
  const database = newId('db').toLowerCase()
  await administer(`create database "${database}"`)
  t.teardown(() => administer(`drop database "${database}" with (force)`))
  return addressOf(database)
}

const created = new Map<string, Promise<PostgresAddress>>()

/** The database that stands for a folder; it is gone with the cluster. */
export const databaseFor = (folder: string): Promise<PostgresAddress> => {
  const address = created.get(folder) ?? create(folder)
  created.set(folder, address)
  return address
}

const create = async (folder: string): Promise<PostgresAddress> => {
  const database = `folder_${hash('sha1', folder)}`
  await administer(`create database "${database}"`)
  return addressOf(database)
}

const addressOf = (database: string): PostgresAddress => ({
  host: process.env[SOCKET_FOLDER],
  user: 'postgres',
  database,
})

const administer = async (statement: string): Promise<void> => {
  const client = new Client(addressOf('postgres'))
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
