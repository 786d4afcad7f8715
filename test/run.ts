import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
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
const DEBIAN_PACKAGES = ['mosquitto', 'postgresql', 'python3-pip']

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
/** Only for what hangs: each wait has a shorter deadline that names what did not happen. */
const FILE_TIMEOUT_SECONDS = 300
/** Time for a file to report its time-out, after which it is killed. */
const REPORT_MS = 30_000

const WITHOUT_HOOKS = new URL('support/without-promise-hooks.ts', import.meta.url).href

interface FileResult {
  file: string
  isPassed: boolean
  lines: string[]
  milliseconds: number
}

/**
 * Runs a file in a process of its own. Plain Node does that, and not the runner of tap, whose module
 * hooks double the CPU time of each start, also in the programs that a test starts.
 */
const runFile = async (file: string): Promise<FileResult> => {
  const started = performance.now()
  const child = spawn(process.execPath, ['--import', WITHOUT_HOOKS, file], {
    env: { ...process.env, TAP_TIMEOUT: String(FILE_TIMEOUT_SECONDS) },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: FILE_TIMEOUT_SECONDS * 1000 + REPORT_MS,
    killSignal: 'SIGKILL',
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  const milliseconds = performance.now() - started
  // a file that ends before its first test has no plan
  const isWhole = /^1\.\.\d+/m.test(output)
  return { file, isPassed: code === 0 && isWhole, lines: output.split('\n'), milliseconds }
}

interface Counts {
  passed: number
  failed: number
}

/** End of a titled test: an assertion has no time. */
const TITLED = /^\s*(ok|not ok) \d+ - .* # time=/

/**
 * Shows failures with their diagnosis and skipped tests, and counts titled tests. A failed file
 * counts too: it may have crashed, timed out or failed outside its tests.
 */
const reportFile = ({ file, isPassed, lines, milliseconds }: FileResult, counts: Counts): void => {
  let isDiagnosis = false
  for (const line of lines) {
    isDiagnosis = /^\s*not ok/.test(line) || (isDiagnosis && !/^\s*ok \d+/.test(line))
    if (isDiagnosis || /# skip/i.test(line)) console.log(`    ${line}`)
    const outcome = TITLED.exec(line)?.[1]
    if (outcome !== undefined) counts[outcome === 'ok' ? 'passed' : 'failed']++
  }
  if (!isPassed) counts.failed++
  console.log(`${isPassed ? 'ok' : 'not ok'} - ${file} # time=${Math.round(milliseconds)}ms`)
}

const runFiles = async (files: readonly string[]): Promise<Counts> => {
  const counts = { passed: 0, failed: 0 }
  const waiting = [...files]
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      reportFile(await runFile(file), counts)
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
const cluster = await Cluster.create()
if (cluster !== undefined) process.env[SOCKET_FOLDER] = cluster.folder
const { passed, failed } = await runFiles(files)
await cluster?.stop()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
