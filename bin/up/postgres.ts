import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { wait } from '../../shared/wait.ts'
import { EXIT, LaunchError } from './launch-error.ts'
import { openLog } from './log.ts'
import { Member } from './member.ts'

type Program = readonly [command: string, ...args: string[]]

interface EmbeddedParts {
  /** Folder of the data and of the socket. */
  folder: string
  logFolder: string
  env: Record<string, string | undefined>
  say: (text: string) => void
}

/** PostgreSQL of this machine with its data in the state folder, reached over a socket only. */
export interface EmbeddedPostgres {
  /** Address for `store.url`. */
  url: string
  /** Rejects when the server cannot be started. */
  failed: Promise<never>
  stop(): Promise<void>
  kill(): void
}

/** The name of a socket has at most 107 bytes (unix(7)). */
const MAX_FOLDER_BYTES = 90

/** Starts the server; it is ready when this resolves. Throws LaunchError where that cannot be. */
export const startPostgres = async (parts: EmbeddedParts): Promise<EmbeddedPostgres> => {
  const { folder } = parts
  if (Buffer.byteLength(folder) > MAX_FOLDER_BYTES)
    throw new LaunchError(EXIT.cannotCreate, `${folder} is too long for a socket of PostgreSQL`)
  const programs = findServerPrograms()
  makeOwnFolder(folder)
  if (!existsSync(join(folder, 'data', 'PG_VERSION'))) initialize(programs, folder)
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const server = createServer(parts, programs, resolve)
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  server.run().catch(failed.reject)
  await Promise.race([ready, failed.promise])
  const url = `postgres://postgres@localhost/postgres?host=${folder}`
  return {
    url,
    failed: failed.promise,
    stop: () => server.stop(),
    kill: () => server.kill(),
  }
}

/** Debian keeps the programs of the server in a folder of their version. */
const findServerPrograms = (): string => {
  const folder = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1)
  if (folder !== undefined) return join(folder, '..')
  const message = 'PostgreSQL is not installed: apt install postgresql, or give --postgres URL'
  throw new LaunchError(EXIT.config, message)
}

const createServer = (
  { folder, logFolder, env, say }: EmbeddedParts,
  programs: string,
  onReady: () => void,
): Member =>
  new Member({
    name: 'PostgreSQL',
    program: [...asServer('--pdeathsig', 'INT'), join(programs, 'postgres')],
    log: openLog(join(logFolder, 'postgres.log'), say),
    invocation: async () => ({ args: ['-D', join(folder, 'data'), ...settingsFor(folder)], env }),
    isReady: ({ msg }) => String(msg).includes('ready to accept connections'),
    onChange: onReady,
    tell: say,
    // a fast shutdown; it does not wait for clients
    stopSignal: 'SIGINT',
    wait,
    nowMs: () => performance.now(),
  })

const settingsFor = (folder: string): string[] =>
  Object.entries({
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '200',
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])

/**
 * PostgreSQL refuses to run as root: root runs it as Debian's user `postgres`, who may search the
 * folders above its own.
 */
const asServer = (...flags: string[]): Program => {
  if (process.getuid?.() !== 0) return ['setpriv', ...flags, '--']
  const user = ['--reuid=postgres', '--regid=postgres', '--init-groups']
  const search = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search']
  return ['setpriv', ...user, ...search, ...flags, '--']
}

/** The folder is inside one that only its owner enters, so every local user may connect. */
const makeOwnFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (process.getuid?.() !== 0) return
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres']))
  chownSync(folder, idOf('-u'), idOf('-g'))
}

const initialize = (programs: string, folder: string): void => {
  const [command, ...args] = asServer()
  const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C']
  const { status, stderr, error } = spawnSync(
    command,
    [...args, join(programs, 'initdb'), '--pgdata', join(folder, 'data'), ...flags],
    { encoding: 'utf8' },
  )
  if (status === 0) return
  const reason = error?.message ?? stderr.trim().split('\n').at(-1)
  throw new LaunchError(EXIT.cannotCreate, `initdb cannot make ${folder}: ${reason}`)
}
