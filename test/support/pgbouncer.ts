import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { PostgresAddress } from '../../coordinator/kernel/store/postgres/connection.ts'
import { postgresMissing, userOf } from './postgres.ts'

const versionOf = (): number[] | undefined => {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  return /PgBouncer (\d+)\.(\d+)/
    .exec(stdout ?? '')
    ?.slice(1)
    .map(Number)
}

/** Reason why tests with a pooler cannot run here; false when they can. */
export const pgbouncerMissing: string | false =
  postgresMissing || (versionOf() === undefined && 'PgBouncer is not installed')

/** True for a version that prepares statements in transaction mode: 1.21 and later. */
export const pgbouncerPrepares = (): boolean => {
  const [major = 0, minor = 0] = versionOf() ?? []
  return major > 1 || minor >= 21
}

/**
 * PgBouncer in transaction mode in front of a database, with few connections to it; it ends after
 * the test.
 */
export const openPgbouncer = async (
  t: Pick<Test, 'teardown'>,
  { host, user, database }: PostgresAddress,
): Promise<PostgresAddress> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${database} = host=${host} user=${user}
[pgbouncer]
pool_mode = transaction
default_pool_size = 6
${pgbouncerPrepares() ? 'max_prepared_statements = 100' : ''}
auth_type = any
listen_port = 6432
unix_socket_dir = ${folder}
logfile =
`,
  )
  const owner = process.getuid?.() === 0 ? userOf('postgres') : undefined
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  chmodSync(file, 0o644)
  const pooler = spawn('pgbouncer', [file], { ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(pooler, 'exit')
  t.teardown(async () => {
    pooler.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true })
  })
  for await (const line of createInterface({ input: pooler.stderr }))
    if (line.includes('process up')) break
  pooler.stderr.resume()
  return { host: folder, port: 6432, user, database, prepared: pgbouncerPrepares() }
}
