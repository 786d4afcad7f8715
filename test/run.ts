import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startCluster } from './support/postgres.ts'

/**
 * `npm test`: types and lint, then every test file, then one line `N passed, N failed`.
 * Arguments are files or folders: `npm test -- test/shared` runs a part.
 */
const binFolder = new URL('../node_modules/.bin', import.meta.url).pathname
const bin = (name: string) => join(binFolder, name)
// tap starts its files with the first `node` on the path: it must be the carried one
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

interface Counts {
  passed: number
  failed: number
  code: number
}

/** End of a titled test: an assertion has no time, and a file is not indented. */
const TITLED = /^\s+(ok|not ok) \d+ - .* # time=/
/** A file that failed outside its tests: a crash, a time-out, an assertion at its top. */
const FAILED_FILE = /^not ok \d+ - (?!.*# SKIP)/

/** Runs tap, shows failures with their diagnosis, and counts titled tests. */
const runTap = async (files: string[]): Promise<Counts> => {
  const tap = spawn(bin('tap'), ['run', '--reporter=tap', ...files], {
    env: { ...process.env, TAP_TYPE_STRIP_ONLY: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const counts = { passed: 0, failed: 0 }
  let diagnosing = false
  for await (const line of createInterface({ input: tap.stdout })) {
    diagnosing = /^\s*not ok/.test(line) || (diagnosing && !/^\s*ok \d+/.test(line))
    if (diagnosing || /^(ok|not ok|#)/.test(line) || /# skip/i.test(line)) console.log(line)
    const outcome = TITLED.exec(line)?.[1]
    if (outcome === 'ok') counts.passed++
    else if (outcome !== undefined || FAILED_FILE.test(line)) counts.failed++
  }
  const [code] = tap.exitCode === null ? await once(tap, 'exit') : [tap.exitCode]
  return { ...counts, code: code ?? 1 }
}

/** Test files of an argument: all of a folder, or the file itself; without any, the run fails. */
const expand = (path: string): string[] => {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const files = globSync(join(path, '**/*.test.ts')).toSorted()
  if (files.length > 0) return files
  console.log(`${path} has no test files\n0 passed, 1 failed`)
  return process.exit(1)
}

const files = process.argv.slice(2).flatMap(expand)
if (process.env.CI === 'true') installPackages()
if (files.length === 0) {
  check('tsc', ['--noEmit'])
  check('biome', ['check'])
}
const cluster = await startCluster()
Object.assign(process.env, cluster?.env)
const { passed, failed, code } = await runTap(files).finally(() => cluster?.stop())
console.log(`${passed} passed, ${failed + (code !== 0 && failed === 0 ? 1 : 0)} failed`)
process.exit(code)
