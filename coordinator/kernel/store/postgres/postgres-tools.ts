import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { DAY_MS } from '../../../../shared/time.ts'
import type { PostgresAddress } from './connection.ts'

const COMMON = ['--no-password', '--no-owner', '--no-privileges']

/** Writes one consistent moment of a database into an archive, while coordinators use it. */
export const dumpDatabase = (
  address: PostgresAddress,
  file: string,
  signal?: AbortSignal,
): Promise<void> =>
  runTool('pg_dump', [...COMMON, '--format=custom', `--file=${file}`], address, signal)

/**
 * Restores an archive into an empty database, as a whole or not at all. Throws `conflict` for a
 * database with tables.
 */
export const restoreDatabase = async (
  address: PostgresAddress,
  file: string,
  signal?: AbortSignal,
): Promise<void> => {
  const { database = '' } = address
  const tables = await query<{ count: number }>(
    address,
    "select count(*)::int as count from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  )
  if (tables[0]?.count !== 0)
    throw new ShoalError('conflict', `the database ${database} has tables: restore to an empty one`)
  const whole = ['--single-transaction', '--exit-on-error', `--dbname=${database}`]
  await runTool('pg_restore', [...COMMON, ...whole, file], address, signal)
}

/** Reads an archive to its end without a database. */
export const readArchive = (
  address: PostgresAddress,
  file: string,
  signal?: AbortSignal,
): Promise<void> => runTool('pg_restore', ['--file=/dev/null', file], address, signal)

/** Prefix of the databases for test restores; the time of their creation follows. */
const SCRATCH = 'shoal_verify'

/** Drops the databases of this role whose test was killed over a day ago. */
const dropLeftovers = async (address: PostgresAddress, now: number): Promise<void> => {
  const known = await query<{ datname: string }>(
    address,
    'select datname from pg_database join pg_roles on pg_roles.oid = datdba where rolname = current_user',
  )
  const oldest = newId(SCRATCH, now - DAY_MS)
  for (const { datname } of known)
    if (/^shoal_verify_[0-9a-z]{26}$/.test(datname) && datname < oldest)
      await query(address, `drop database if exists "${datname}" with (force)`)
}

/** SQLSTATE insufficient_privilege. */
const FORBIDDEN = '42501'

/**
 * Runs work on a new and empty database of the same server, which is dropped afterwards. Undefined
 * where the role may not create databases.
 */
export const onScratchDatabase = async <T>(
  address: PostgresAddress,
  run: (scratch: PostgresAddress) => Promise<T>,
  now: number,
): Promise<{ result: T } | undefined> => {
  await dropLeftovers(address, now)
  const database = newId(SCRATCH, now)
  try {
    await query(address, `create database "${database}"`)
  } catch (error) {
    if (sqlState(error) === FORBIDDEN) return undefined
    throw error
  }
  try {
    return { result: await run({ ...address, database }) }
  } finally {
    await query(address, `drop database "${database}" with (force)`)
  }
}

const sqlState = (error: unknown): string | undefined =>
  ((error as Error).cause as { code?: string } | undefined)?.code

const query = async <Row>(
  { prepared: _, ...config }: PostgresAddress,
  statement: string,
): Promise<Row[]> => {
  const client = new Client(config)
  try {
    await client.connect()
    return (await client.query(statement)).rows as Row[]
  } catch (cause) {
    const { message } = cause as Error
    throw new ShoalError('store_unavailable', `PostgreSQL: ${message}`, { cause })
  } finally {
    await client.end().catch(() => {})
  }
}

/** Throws `not_found` where the tool is missing, `store_unavailable` with what it says. */
const runTool = async (
  tool: string,
  args: readonly string[],
  address: PostgresAddress,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'shoal-postgres-tool-'))
  try {
    const env = { ...process.env, ...(await environmentOf(address, folder)) }
    const child = spawn(tool, args, { env, stdio: ['ignore', 'ignore', 'pipe'], signal })
    const ended = new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    )
    const [said, code] = await Promise.all([text(child.stderr), ended])
    if (code !== 0)
      throw new ShoalError('store_unavailable', `${tool}: ${said.trim().split('\n')[0] ?? ''}`)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    const remedy = 'install the client programs of PostgreSQL (postgresql-client)'
    throw new ShoalError('not_found', `${tool} is not installed: ${remedy}`, { cause })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The address as libpq reads it (libpq, Environment Variables): a password must not be an argument. */
const environmentOf = async (
  { host, port, user, password, database, ssl }: PostgresAddress,
  folder: string,
): Promise<Record<string, string>> => ({
  PGHOST: host,
  ...(port !== undefined && { PGPORT: String(port) }),
  ...(user !== undefined && { PGUSER: user }),
  ...(database !== undefined && { PGDATABASE: database }),
  ...(typeof password === 'string' && { PGPASSWORD: password }),
  ...(await tlsOf(ssl, folder)),
})

const tlsOf = async (
  ssl: PostgresAddress['ssl'],
  folder: string,
): Promise<Record<string, string>> => {
  if (typeof ssl !== 'object') return {}
  if (ssl.ca === undefined) return { PGSSLMODE: 'verify-full', PGSSLROOTCERT: 'system' }
  const file = join(folder, 'authority.crt')
  await writeFile(file, String(ssl.ca), { mode: 0o600 })
  return { PGSSLMODE: 'verify-full', PGSSLROOTCERT: file }
}
