import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { placePrograms } from './shoal-in-shell.ts'
import { startStack } from './stack.ts'

const root = resolve(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** The shell examples of a document: fences marked `sh`. */
const listExamples = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(match => match[1] ?? '')

/** Starts a service for the examples of documents; a program reads its address from the environment. */
export const startDocumented = async (t: Test): Promise<Record<string, string>> => {
  const { url, keys, folder, coordinator, stop } = await startStack()
  t.teardown(stop)
  return {
    PATH: [join(root, 'bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(':'),
    SHOAL_URL: url,
    SHOAL_KEY: keys.operator,
    SHOAL_COORDINATOR_STATE_DIR: join(folder, 'coordinator'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    COORDINATOR_PID: String(coordinator.pid),
  }
}

/** Tests that every shell example of the documents works; paths are relative to the project. */
export const testExamples = async (
  t: Test,
  documents: readonly string[],
  env: Record<string, string>,
): Promise<void> => {
  const threads = await placePrograms(t, env)
  for (const path of documents) {
    // the first page starts the programs themselves
    const own = path === 'README.md' ? env : { ...env, PATH: `${threads}:${env.PATH}` }
    for (const example of listExamples(readFileSync(join(root, path), 'utf8')))
      if (!/^export /m.test(example))
        t.test(`${path}: ${example.trim().split('\n')[0]}`, async t => {
          const args = ['--norc', '-euo', 'pipefail', '-c', example]
          const { stdout } = await run('bash', args, { cwd: root, env: own })
          t.notMatch(stdout, /"error"(?!:null)/)
          t.not(stdout.trim(), '')
        })
  }
}
