import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..')

/** Names that a file must not use: it receives them through a `Runtime` (`shared/runtime.ts`). */
const GLOBALS =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\brandomUUID\b|\bhrtime\b|\bAbortSignal\.timeout\b|\bqueueMicrotask\b|\bnew Socket\(|'node:timers|(?<![\w.#'])(?:set|clear)(?:Timeout|Interval|Immediate)\b/

/** Text without comments, so that prose may contain these names. */
const stripComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

const findGlobal = (text: string): string | undefined => GLOBALS.exec(stripComments(text))?.[0]

const COMMAND = 'made by commands, too, which have no Base'
const DEFAULT = 'the default of a runtime that its Base replaces'
const TURN = 'long work that lets other events run; nothing is ordered by it'
const ANSWER = 'measures or limits one answer to a client, on its socket'

/** Folders and files that may name the runtime of the system in place of that of their Base. */
const SYSTEM: Record<string, string> = {
  'access/keys/keys.ts': COMMAND,
  'access/quota/usage-check.ts': TURN,
  'assembly/': 'gives the runtime to every part, and listens on real ports',
  'fleet/broker/': 'sockets of cells; the bus is a port that is replaced as a whole',
  'fleet/enrolment/cells.ts': COMMAND,
  'fleet/questions/': 'asks a cell through its link, each question within its time',
  'fleet/routing/': DEFAULT,
  'gateway/link/frame-output.ts': TURN,
  'insight/backup/': 'a thread and a command beside the coordinator',
  'kernel/audit/': TURN,
  'kernel/base/time-slices.ts': TURN,
  'kernel/base/turn-queue.ts': TURN,
  'kernel/schedules/recurrence.ts': TURN,
  'kernel/secrets/rotate.ts': 'a command with a process of its own',
  'kernel/store/group-commit.ts': COMMAND,
  'kernel/store/postgres/':
    'connections to a server; the engine is a port that is replaced as a whole',
  'kernel/store/revisions.ts': COMMAND,
  'kernel/store/sqlite/': 'files of this machine; the engine is a port that is replaced as a whole',
  'kernel/tls/own-certificate.ts': 'certificates are valid by the clock of their readers',
  'surfaces/admin/': 'commands are processes of their own, without a Base',
  'surfaces/http/': ANSWER,
  'surfaces/mcp/': ANSWER,
  'surfaces/metrics/': 'measures this process',
}

/** A pause or a repeated look without a runtime is one by the clock of the system. */
const SYSTEM_WAIT = /\bwait\b(?: as \w+)?[^}\n]*\} from '[^']*shared\/wait\.ts'/

const namesSystem = (text: string): boolean =>
  /\bsystemRuntime\b/.test(text) ||
  SYSTEM_WAIT.test(text) ||
  (/\blookUntil\(/.test(text) && !/\b(?:runtime|wait)\b/.test(stripComments(text)))

const findEntry = (file: string): string | undefined =>
  Object.keys(SYSTEM).find(entry => file.startsWith(`coordinator/${entry}`))

t.test('only listed files name the runtime of the system, and each entry is used', async t => {
  const files = globSync('coordinator/**/*.ts', { cwd: root }).filter(file =>
    namesSystem(readFileSync(join(root, file), 'utf8')),
  )
  t.strictSame(
    files.filter(file => findEntry(file) === undefined),
    [],
    'a file takes the runtime of its Base, or stands in the table with its reason',
  )
  t.strictSame(
    Object.keys(SYSTEM).filter(entry => !files.some(file => findEntry(file) === entry)),
    [],
  )
})

/** Folders and files that create ids beside those of a runtime. */
const IDS: Record<string, string> = {
  'access/gates/new-request.ts': 'compares the time in ids',
  'access/people/': COMMAND,
  'access/quota/usage.ts': COMMAND,
  'kernel/replicas/maintenance.ts': COMMAND,
  'kernel/store/postgres/': 'names databases on a server',
}

t.test('ids come from the runtime, or have a reason', async t => {
  const files = globSync('coordinator/**/*.ts', { cwd: root }).filter(file =>
    /\bnewId\(/.test(stripComments(readFileSync(join(root, file), 'utf8'))),
  )
  const isListed = (entry: string) => files.some(file => file.startsWith(`coordinator/${entry}`))
  t.strictSame(
    files.filter(file => !Object.keys(IDS).some(entry => file.startsWith(`coordinator/${entry}`))),
    [],
  )
  t.strictSame(
    Object.keys(IDS).filter(entry => !isListed(entry)),
    [],
  )
})

/** Timers that recur outside of `kernel/schedules`, which stops them and waits for their runs. */
const INTERVALS: Record<string, string> = {
  'access/quota/held-rows.ts': 'commands record usage, too, and have no schedules',
  'gateway/link/pings.ts': 'lives as long as one link',
  'kernel/base/timers.ts': 'the timer of the schedules',
  'kernel/queue/job-lease.ts': 'lives as long as one attempt, a third of its lease',
  'kernel/store/journal.ts': 'commands open a journal, too, and have no schedules',
  'kernel/store/revisions.ts': 'the store is open before there are schedules, and in commands',
  'kernel/store/sqlite/checkpointer.ts': 'the store is open in commands, too',
  'surfaces/http/event-routes.ts': 'ends before the server waits for the end of its streams',
  'surfaces/http/paced-lines.ts': 'lives as long as one answer',
}

t.test('every recurring timer is a schedule, or has a reason', async t => {
  const files = globSync('coordinator/**/*.ts', { cwd: root }).filter(file =>
    /\.setInterval\(|^\s+\.setInterval/m.test(
      stripComments(readFileSync(join(root, file), 'utf8')),
    ),
  )
  t.strictSame(
    files.toSorted(),
    Object.keys(INTERVALS)
      .map(file => `coordinator/${file}`)
      .toSorted(),
  )
})

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
