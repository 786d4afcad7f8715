import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { waitUntil } from '../support/wait-until.ts'
import { listChanged, listTouched } from './changed-files.ts'
import { planRun, SLOWEST } from './plan-run.ts'
import { reportFiles } from './report-files.ts'
import { runFiles } from './run-files.ts'
import { parseShard, planShard } from './shard.ts'
import { SLOW_FILES } from './slow-files.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')
const RUN = join(ROOT, 'test', 'run.ts')
/** Folder that git ignores, below the tree, so that a file in it can import tap. */
const SCRATCH = join(ROOT, '.tap')

const writeTestFile = (t: Test, text: string): string => {
  mkdirSync(SCRATCH, { recursive: true })
  const folder = mkdtempSync(join(SCRATCH, 'runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file.mjs')
  writeFileSync(file, text)
  return file
}

/** A test file that starts a program which holds its output, and prints the id of that program. */
const withOrphan = (isDetached: boolean, rest: string): string => `
  import { execFileSync, spawn, spawnSync } from 'node:child_process'
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
  const result = await runFiles([writeTestFile(t, withOrphan(false, "console.log('1..0')"))])
  t.ok(result.isPassed)
  await waitForEnd(orphanOf(result.lines))
})

t.test('a program in a process group of its own does not hold up the run', async t => {
  const result = await runFiles([writeTestFile(t, withOrphan(true, "console.log('1..0')"))])
  const orphan = orphanOf(result.lines)
  t.teardown(() => process.kill(orphan, 'SIGKILL'))
  t.ok(result.isPassed)
  t.ok(isRunning(orphan))
})

t.test('a file that exceeds its time limit is killed with its programs', async t => {
  const file = writeTestFile(t, withOrphan(false, 'setInterval(() => {}, 1000)'))
  const result = await runFiles([file], 1)
  t.match(reportFiles(result), {
    lines: [
      '    the process was killed by SIGKILL after its time limit of 1 s',
      /^not ok - .*file\.mjs # time=/,
    ],
    failed: 1,
  })
  await waitForEnd(orphanOf(result.lines))
})

t.test('the report has the exit code, and the tests that were skipped or are unfinished', t => {
  const lines = ['ok 1 - first # time=1ms', 'ok 2 - second # SKIP no radio', 'ok 3 - third # TODO']
  const result = { files: ['a.test.ts'], isPassed: false, lines, milliseconds: 7, cpuMs: 90 }
  t.strictSame(reportFiles({ ...result, ending: 'exited with code 7' }), {
    lines: [
      '    ok 2 - second # SKIP no radio',
      '    ok 3 - third # TODO',
      '    the process exited with code 7',
      'not ok - a.test.ts # time=7ms cpu=90ms',
    ],
    passed: 1,
    failed: 1,
  })
  t.end()
})

t.test('files that share a process have their own tests and teardowns', async t => {
  const first = writeTestFile(
    t,
    `import t from 'tap'
     import { writeFileSync } from 'node:fs'
     t.teardown(() => writeFileSync(import.meta.filename + '.ended', ''))
     t.test('a test of the first', async t => t.ok(true))`,
  )
  const second = writeTestFile(
    t,
    `import t from 'tap'
     import { existsSync } from 'node:fs'
     const hasEnded = existsSync(\`${first}.ended\`)
     t.test('the first has ended', async t => t.ok(hasEnded))`,
  )
  const report = reportFiles(await runFiles([first, second]))
  t.match(report, { passed: 2, failed: 0 })
  t.match(report.lines, [
    new RegExp(`^ +ok 1 - ${first} `),
    new RegExp(`^ +ok 2 - ${second} `),
    /^ok - the 2 files above # time=/,
  ])
})

t.test('a file that ends its process fails, with those that it kept from running', async t => {
  const good = writeTestFile(t, "import t from 'tap'\nt.test('fine', async t => t.ok(true))")
  const bad = writeTestFile(t, 'process.exit(7)')
  const late = writeTestFile(t, "import t from 'tap'\nt.test('fine', async t => t.ok(true))")
  const { lines, passed, failed } = reportFiles(await runFiles([good, bad, late]))
  t.match({ passed, failed }, { passed: 1, failed: 1 })
  t.match(lines[0], `ok 1 - ${good}`)
  t.match(lines.join('\n'), `not ok 2 - ${bad}`)
  t.ok(lines.includes(`    not ok - ${late} did not end`))
  t.match(lines.at(-1), /^not ok - the 3 files above/)
})

t.test('a plan runs every file once, the slow ones first and the slowest alone', async t => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT })
  const plan = planRun(files)
  t.strictSame(plan.flat().toSorted(), files.toSorted())
  t.strictSame(plan.flat().slice(0, SLOW_FILES.length).toSorted(), SLOW_FILES.toSorted())
  t.strictSame(
    plan.slice(0, SLOWEST),
    SLOW_FILES.slice(0, SLOWEST).map(file => [file]),
  )
  const together = plan.flatMap(group => (group.length > 1 ? group : []))
  t.ok(together.length > files.length / 2)
  t.notOk(together.includes('test/clients/cli.test.ts'), 'it changes its environment')
})

t.test('the shards of a run have every file once, and none has all slow ones', async t => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT })
  const parts = [1, 2, 3]
    .map(index => planShard(files, { index, count: 3 }))
    .map(({ waiting, planned }) => [...waiting, ...planned].flat())
  t.strictSame(parts.flat().toSorted(), files.toSorted())
  for (const part of parts) {
    const slow = part.filter(file => SLOW_FILES.includes(file))
    t.ok(Math.abs(slow.length - SLOW_FILES.length / 3) < 2)
    t.ok(Math.abs(part.length - files.length / 3) < files.length / 6, `${part.length} files`)
  }
  t.strictSame(parseShard('2/3'), { index: 2, count: 3 })
  for (const text of ['', '0/3', '4/3', '1', 'a/b', '1/0', '-1/3'])
    t.equal(parseShard(text), undefined, text)
})

t.test('the runner refuses arguments that it does not know', async t => {
  const refused = [
    ['--shard', '4/3'],
    ['--shards', '1/3'],
    ['--changed=yes'],
    ['--since', 'HEAD'],
    ['--changed', '--since', 'no-commit'],
  ]
  for (const args of refused) {
    const { status, stdout } = spawnSync(process.execPath, [RUN, ...args], { encoding: 'utf8' })
    t.equal(status, 64, args.join(' '))
    t.match(stdout, /\n0 passed, 1 failed\n$/)
  }
})

t.test('a change touches the tests that import it, the nearest first', async t => {
  const slow = SLOW_FILES[0] ?? ''
  const value = (file: string, target: string) => ({ file, target, isType: false })
  const imports = [
    value('test/a/far.test.ts', 'b/b.ts'),
    value('b/b.ts', 'a/a.ts'),
    value('test/b/near.test.ts', 'a/a.ts'),
    value('test/a/a.test.ts', 'a/a.ts'),
    value(slow, 'a/a.ts'),
    { file: 'test/b/types.test.ts', target: 'a/a.ts', isType: true },
  ]
  const texts = new Map([
    ['test/a/a.test.ts', ''],
    ['test/a/far.test.ts', "read('docs/page.md')"],
    ['test/b/near.test.ts', ''],
    ['test/b/types.test.ts', ''],
    [slow, ''],
  ])
  const list = (...changed: string[]): string[] =>
    listTouched(imports, changed, [...texts.keys()], test => texts.get(test) ?? '')
  t.strictSame(list('a/a.ts'), ['test/a/a.test.ts', 'test/b/near.test.ts', 'test/a/far.test.ts'])
  t.strictSame(list('test/b/near.test.ts'), ['test/b/near.test.ts'])
  t.strictSame(list('docs/page.md'), ['test/a/far.test.ts'])
  t.strictSame(list(slow), [slow], 'a slow test comes when it has changed itself')
  t.strictSame(
    list('b/loaded-by-name.ts'),
    ['test/b/near.test.ts', 'test/b/types.test.ts'],
    'the tests of its folder',
  )
  t.strictSame(list('packaging/none.ts'), [])
})

t.test(
  'the files of a change are those that git reports as modified, deleted or untracked',
  async t => {
    const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-changed-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder })
    git('init', '-q')
    for (const name of ['same.ts', 'other.ts', 'gone.ts']) writeFileSync(join(folder, name), name)
    git('add', '.')
    git('commit', '-q', '-m', 'x')
    t.strictSame(listChanged(folder, 'HEAD'), [])
    writeFileSync(join(folder, 'other.ts'), 'changed')
    writeFileSync(join(folder, 'new one.ts'), '')
    rmSync(join(folder, 'gone.ts'))
    t.strictSame(listChanged(folder, 'HEAD'), ['gone.ts', 'new one.ts', 'other.ts'])
  },
)

t.test('a run that is terminated ends its files and removes their folder', async t => {
  const file = writeTestFile(
    t,
    `console.error(process.pid + ' ' + process.env.TEST_MEMORY_FOLDER)
     setInterval(() => {}, 1000)`,
  )
  // on a build machine the run would install packages first, and apt writes to the same output
  const env = { ...process.env, CI: 'false' }
  const run = spawn(process.execPath, [RUN, file], { env, stdio: ['ignore', 'ignore', 'pipe'] })
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
