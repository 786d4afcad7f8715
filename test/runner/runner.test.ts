import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { waitUntil } from '../support/wait-until.ts'
import { reportFile } from './report-file.ts'
import { runFile } from './run-file.ts'

const RUN = resolve(import.meta.dirname, '..', 'run.ts')

const writeTestFile = (t: Test, text: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file.mjs')
  writeFileSync(file, text)
  return file
}

/** A test file that starts a program which holds its output, and prints the id of that program. */
const withOrphan = (isDetached: boolean, rest: string): string => `
  import { spawn } from 'node:child_process'
  const stdio = ['ignore', 'inherit', 'ignore']
  const child = spawn('sleep', ['1000'], { stdio, detached: ${isDetached} })
  child.unref()
  console.log('orphan ' + child.pid)
  ${rest}
`

const orphanOf = (lines: readonly string[]): number =>
  Number(lines.find(line => line.startsWith('orphan'))?.split(' ')[1])

/** True when the process is running; a zombie does not count. */
const isRunning = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const waitForEnd = (pid: number): Promise<boolean> =>
  waitUntil(`process ${pid} ends`, () => !isRunning(pid))

t.test('a program that outlives its test file ends with it', async t => {
  const result = await runFile(writeTestFile(t, withOrphan(false, "console.log('1..0')")))
  t.ok(result.isPassed)
  await waitForEnd(orphanOf(result.lines))
})

t.test('a program in a process group of its own does not hold up the run', async t => {
  const result = await runFile(writeTestFile(t, withOrphan(true, "console.log('1..0')")))
  const orphan = orphanOf(result.lines)
  t.teardown(() => process.kill(orphan, 'SIGKILL'))
  t.ok(result.isPassed)
  t.ok(isRunning(orphan))
})

t.test('a file that exceeds its time limit is killed with its programs', async t => {
  const file = writeTestFile(t, withOrphan(false, 'setInterval(() => {}, 1000)'))
  const result = await runFile(file, 1)
  t.match(reportFile(result), {
    lines: [
      '    the file was killed by SIGKILL after its time limit of 1 s',
      /^not ok - .*file\.mjs # time=/,
    ],
    failed: 1,
  })
  await waitForEnd(orphanOf(result.lines))
})

t.test('the report has the exit code, and the tests that were skipped or are unfinished', t => {
  const lines = ['ok 1 - first # time=1ms', 'ok 2 - second # SKIP no radio', 'ok 3 - third # TODO']
  const result = { file: 'a.test.ts', isPassed: false, lines, milliseconds: 7, cpuMs: 90 }
  t.strictSame(reportFile({ ...result, ending: 'exited with code 7' }), {
    lines: [
      '    ok 2 - second # SKIP no radio',
      '    ok 3 - third # TODO',
      '    the file exited with code 7',
      'not ok - a.test.ts # time=7ms cpu=90ms',
    ],
    passed: 1,
    failed: 1,
  })
  t.end()
})

t.test('a run that is terminated ends its files and removes their folder', async t => {
  const file = writeTestFile(
    t,
    `console.error(process.pid + ' ' + process.env.TEST_MEMORY_FOLDER)
     setInterval(() => {}, 1000)`,
  )
  const run = spawn(process.execPath, [RUN, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => run.kill('SIGKILL'))
  const exited = once(run, 'exit')
  const [line] = await once(createInterface(run.stderr), 'line')
  const [pid, folder] = line.split(' ')
  t.ok(existsSync(folder))
  run.kill('SIGTERM')
  t.strictSame(await exited, [143, null])
  await waitForEnd(Number(pid))
  t.notOk(existsSync(folder))
})
