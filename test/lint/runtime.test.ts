import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..')

/** What a file receives through a `Runtime` (`shared/runtime.ts`) and takes from nowhere else. */
const GLOBALS =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\brandomUUID\b|\bhrtime\b|\bAbortSignal\.timeout\b|\bqueueMicrotask\b|\bnew Socket\(|'node:timers|(?<![\w.#])(?:set|clear)(?:Timeout|Interval|Immediate)\b/

/** Text without comments, so that prose may name what code may not. */
const stripComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

const findGlobal = (text: string): string | undefined => GLOBALS.exec(stripComments(text))?.[0]

t.test('no file of the coordinator takes time, chance or a connection from Node', async t => {
  const files = globSync('coordinator/**/*.ts', { cwd: root }).toSorted()
  t.ok(files.length > 1000, `${files.length} files`)
  const offending = files.flatMap(file => {
    const found = findGlobal(readFileSync(join(root, file), 'utf8'))
    return found === undefined ? [] : [`${file} uses ${found}: take it from the runtime`]
  })
  t.strictSame(offending, [])
})

t.test('each way around the runtime is found', async t => {
  for (const planted of [
    'const now = Date.now',
    'at: new Date().toISOString()',
    'const startedMs = performance.now()',
    'x * Math.random()',
    "import { randomUUID } from 'node:crypto'",
    'process.hrtime.bigint()',
    'AbortSignal.timeout(10)',
    "import { setTimeout as sleep } from 'node:timers/promises'",
    'const timer = setInterval(run, 10)',
    'clearTimeout(timer)',
    'new Socket()',
  ])
    t.ok(findGlobal(planted), planted)
  for (const fine of [
    'runtime.setTimeout(run, 10)',
    '// Date.now() is not used',
    'this.#setTimeout()',
  ])
    t.notOk(findGlobal(fine), fine)
})
