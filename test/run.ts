import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { listImports } from '../bin/arrows/walk.ts'
import { listChanged, listTouched } from './runner/changed-files.ts'
import { takeChildrenCpuMs } from './runner/children-cpu.ts'
import { type FilesReport, reportFiles } from './runner/report-files.ts'
import { killRunning, runFiles } from './runner/run-files.ts'
import { parseShard, planShard, type ShardPlan } from './runner/shard.ts'
import { makeEmptyStores } from './support/empty-store.ts'
import { FOLDER_OF_RUN, MEMORY_FOLDER } from './support/memory-folder.ts'
import { Cluster, SOCKET_FOLDER } from './support/postgres.ts'

/**
 * `npm test`: types and lint, then every test file, then one line `N passed, N failed`.
 * Arguments are files or folders: `npm test -- test/shared` runs a part. `--shard 1/3` runs the first
 * of three parts, for hosts with several machines; types and lint belong to the first. `--changed`
 * runs what the working tree touches since the last commit, or since that of `--since`.
 */
const binFolder = new URL('../node_modules/.bin', import.meta.url).pathname
const bin = (name: string) => join(binFolder, name)
// tests start programs with the first `node` on the path: it must be the carried one
process.env.PATH = `${binFolder}:${process.env.PATH}`
// hundreds of processes load the same files: where our programs keep them compiled, the tests do
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

/** Debian packages for tests with real peers, which are skipped by name without them. */
const DEBIAN_PACKAGES = [
  'avahi-daemon',
  'avahi-utils',
  'mosquitto',
  'nftables',
  'nginx',
  'nmap',
  'pgbouncer',
  'postgresql',
  'python3-pip',
  'snmpd',
]

/** Installs what is missing, on a build machine and as root. A failure shows as skipped tests. */
const installPackages = (): void => {
  const missing = DEBIAN_PACKAGES.filter(name => spawnSync('dpkg', ['-s', name]).status !== 0)
  if (missing.length === 0 || process.getuid?.() !== 0) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = { env, stdio: 'inherit', timeout: 180_000 } as const
  // another installation on the machine holds the lock for minutes
  const wait = ['-o', 'DPkg::Lock::Timeout=120']
  spawnSync('apt-get', [...wait, 'update', '-qq'], options)
  spawnSync('apt-get', [...wait, 'install', '-y', '-qq', ...missing], options)
}

/**
 * Checks types and lint beside the first test files. A finding ends the run: what it breaks would
 * fail a second time as a test.
 */
const check = async (name: string, args: string[], env: object = {}): Promise<void> => {
  const child = spawn(bin(name), args, { stdio: 'inherit', env: { ...process.env, ...env } })
  process.on('exit', () => child.kill())
  const [code] = await once(child, 'exit')
  // the next file that ends is not charged for it
  takeChildrenCpuMs()
  if (code === 0) return
  console.log('0 passed, 1 failed')
  process.exit(1)
}

/**
 * Arguments of the check of types. Each further checker checks most of the types again. What has been
 * checked before is not checked again until it changes.
 */
const TYPES = [
  ...['--noEmit', '--checkers', '1', '--incremental', '--tsBuildInfoFile'],
  join(binFolder, '../.cache/tsc.tsbuildinfo'),
]
/** The compiler ends before its memory is full; freeing some of it takes 40 % of its CPU time. */
const TYPES_MEMORY = { GOGC: 'off', GOMEMLIMIT: '3GiB' }

/** Processes that run at the same time: one more than the cores, because many files wait. */
const JOBS = availableParallelism() + 1

/**
 * Makes the parent of the stores of this run. At the end of this process, however it comes, the
 * folder is removed and the files are killed: as leaders of process groups, they do not receive the
 * signals of the terminal.
 */
const prepareRun = (): void => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-run-'))
  // the user that PostgreSQL runs as passes through it
  chmodSync(folder, 0o711)
  process.env[FOLDER_OF_RUN] = folder
  process.on('exit', () => {
    killRunning()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

/** One PostgreSQL for all files, if one of them needs it; where it does not start, they skip. */
const startCluster = async (files: readonly string[]): Promise<Cluster | undefined> => {
  const isNeeded = (file: string) =>
    existsSync(file) && readFileSync(file, 'utf8').includes('postgres')
  if (process.env.SHOAL_TEST_STORE !== 'postgres' && !files.some(isNeeded)) return undefined
  try {
    const cluster = await Cluster.create()
    if (cluster !== undefined) process.env[SOCKET_FOLDER] = cluster.folder
    return cluster
  } catch (error) {
    console.log(`PostgreSQL does not start: ${(error as Error).message}`)
    return undefined
  }
}

interface Counts {
  passed: number
  failed: number
}

const add = (counts: Counts, { lines, passed, failed }: FilesReport): void => {
  console.log(lines.join('\n'))
  counts.passed += passed
  counts.failed += failed
}

/**
 * Runs the checks and then the files from the back of the plan one after the other, beside the slow
 * files at its front: those start many programs, and would be late if all of them ran at once. Files
 * that wait run beside all others.
 */
const runAll = async (
  { waiting, planned }: ShardPlan,
  runChecks: () => Promise<void>,
): Promise<Counts> => {
  const counts = { passed: 0, failed: 0 }
  const work = async (take: () => readonly string[] | undefined): Promise<void> => {
    for (let next = take(); next !== undefined; next = take())
      add(counts, reportFiles(await runFiles(next)))
  }
  const slow = Array.from({ length: JOBS - 1 }, () => work(() => planned.shift()))
  const others = runChecks().then(() => work(() => planned.pop()))
  await Promise.all([others, ...slow, work(() => waiting.shift())])
  return counts
}

/** Test files of an argument: all of a folder, or the file itself; without any, the run fails. */
const expand = (path: string): string[] => {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const files = globSync(join(path, '**/*.test.ts')).toSorted()
  if (files.length > 0) return files
  console.log(`${path} has no test files\n0 passed, 1 failed`)
  return process.exit(1)
}

/** Ends a run that was started with wrong arguments. */
const refuse = (message: string): never => {
  console.log(`${message}\n0 passed, 1 failed`)
  return process.exit(64)
}

const readArguments = () => {
  const options = {
    shard: { type: 'string', default: '1/1' },
    changed: { type: 'boolean', default: false },
    since: { type: 'string' },
  } as const
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    return { ...values, paths: positionals }
  } catch (error) {
    return refuse((error as Error).message)
  }
}

const ROOT = resolve(import.meta.dirname, '..')
/** Number of test files that two cores run in half a minute, beside the checks. */
const MOST_TOUCHED = 24

/** Nearest tests of a change; the number of the others is printed. */
const chooseTouched = (changed: readonly string[], tests: readonly string[]): string[] => {
  const read = (test: string): string => readFileSync(join(ROOT, test), 'utf8')
  const touched = listTouched(listImports(ROOT), changed, tests, read)
  const left = touched.length - MOST_TOUCHED
  if (left > 0) console.log(`${left} more test files are touched from further away: npm test`)
  return touched.slice(0, MOST_TOUCHED)
}

const readChanged = (since: string): string[] => {
  try {
    return listChanged(ROOT, since)
  } catch {
    return refuse(`--since ${since} is not a commit of this checkout`)
  }
}

const { paths, shard: shardText, changed: isChanged, since } = readArguments()
if (since !== undefined && !isChanged) refuse('--since needs --changed')
const shard = parseShard(shardText) ?? refuse(`--shard ${shardText} is not a part such as 1/3`)
if (process.env.CI === 'true') installPackages()
const all = paths.length === 0 ? expand('test') : paths.flatMap(expand)
const changed = isChanged ? readChanged(since ?? 'HEAD') : []
const plan = planShard(isChanged ? chooseTouched(changed, all) : all, shard)
prepareRun()
const cluster = await startCluster([...plan.waiting, ...plan.planned].flat())
await makeEmptyStores(cluster?.folder)
const { passed, failed } = await runAll(plan, async () => {
  if (paths.length > 0 || shard.index > 1) return
  await check('tsc', TYPES, TYPES_MEMORY)
  const linted = changed.filter(file => existsSync(join(ROOT, file)))
  await check('biome', ['check', '--no-errors-on-unmatched', ...linted])
})
await cluster?.stop()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
