import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'

const bin = resolve(import.meta.dirname, '..', '..', 'bin')

/** A program whose output is closed before it says anything; its code, and what it says of that. */
const runWithClosedOutput = async (program: string, ...args: string[]) => {
  const child = spawn(process.execPath, [join(bin, `${program}.mjs`), ...args], {
    env: { PATH: process.env.PATH, HOME: t.testdir(), XDG_CACHE_HOME: t.testdir() },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const said = text(child.stderr)
  const [code] = await once(child, 'exit')
  return { code, said: await said }
}

t.test('a reader that leaves causes no stack trace and no other exit code', async t => {
  const nowhere = ['--url', 'http://127.0.0.1:1']
  const state = ['--state-dir', join(t.testdir(), 'none')]
  for (const [program, args, code, said] of [
    ['shoald', ['--print-config'], 0, /^$/],
    ['shoald', ['--help'], 0, /^$/],
    ['shoald', ['doctor', ...state, '--coordinator-url', 'http://127.0.0.1:1'], 69, /^$/],
    ['shoal-coordinator', ['--print-config'], 0, /^$/],
    ['shoal-coordinator', ['help'], 0, /^$/],
    ['shoal', ['--version'], 0, /^$/],
    ['shoal', [...nowhere, 'health'], 69, /^shoal: no coordinator answers/],
    ['up', ['--help'], 0, /^$/],
  ] as const) {
    const ended = await runWithClosedOutput(program, ...args)
    t.match(ended, { code, said }, `${program} ${args.join(' ')}`)
  }
})
