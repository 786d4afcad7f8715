import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FileReport, reportFile } from './runner/report-file.ts'
import { killRunning, runFile } from './runner/run-file.ts'
import { FOLDER_OF_RUN, MEMORY_FOLDER } from './support/memory-folder.ts'
import { Cluster, SOCKET_FOLDER } from './support/postgres.ts'

/**
 * `npm test`: types and lint, then every test file, then one line `N passed, N failed`.
 * Arguments are files or folders: `npm test -- test/shared` runs a part.
 */
const binFolder = new URL('../node_modules/.bin', import.meta.url).pathname
const bin = (name: string) => join(binFolder, name)
// tests start programs with the first `node` on the path: it must be the carried one
process.env.PATH = `${binFolder}:${process.env.PATH}`
// hundreds of processes load the same files: where our programs keep them compiled, the tests do
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

/** What tests with real peers need; where it is missing they are skipped by name. */
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

/** On a build machine, as root: installs what is missing. A failure shows as skipped tests. */
const installPackages = (): void => {
  const missing = DEBIAN_PACKAGES.filter(name => spawnSync('dpkg', ['-s', name]).status !== 0)
  if (missing.length === 0 || process.getuid?.() !== 0) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = { env, stdio: 'inherit', timeout: 180_000 } as const
  spawnSync('apt-get', ['update', '-qq'], options)
  spawnSync('apt-get', ['install', '-y', '-qq', ...missing], options)
}

const check = (name: string, args: string[]): void => {
  const { status } = spawnSync(bin(name), args, { stdio: 'inherit' })
  if (status !== 0) {
    console.log('0 passed, 1 failed')
    process.exit(1)
  }
}

/** Files that run at the same time. */
const JOBS = 3

/**
 * Makes the parent of the stores of this run. At the end of this process, however it comes, the
 * folder is removed and the files are killed: as leaders of process groups, they do not receive the
 * signals of the terminal.
 */
const prepareRun = (): void => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-run-'))
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

const add = (counts: Counts, { lines, passed, failed }: FileReport): void => {
  console.log(lines.join('\n'))
  counts.passed += passed
  counts.failed += failed
}

const runFiles = async (files: readonly string[]): Promise<Counts> => {
  const counts = { passed: 0, failed: 0 }
  const waiting = [...files]
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      add(counts, reportFile(await runFile(file)))
  }
  await Promise.all(Array.from({ length: JOBS }, work))
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

const given = process.argv.slice(2)
if (process.env.CI === 'true') installPackages()
if (given.length === 0) {
  check('tsc', ['--noEmit'])
  check('biome', ['check'])
}
// the longest files are those of the whole system: started last, they would run alone
const files = given.length === 0 ? expand('test').toReversed() : given.flatMap(expand)
prepareRun()
const cluster = await startCluster(files)
const { passed, failed } = await runFiles(files)
await cluster?.stop()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
