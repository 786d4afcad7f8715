import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Budgets } from '../../coordinator/kernel/budgets/budgets.ts'
import { LimitsConfig } from '../../coordinator/kernel/budgets/limits-config.ts'
import { DaemonConfig } from '../../daemon/config.ts'

/** Name, and the highest exposure `systemd-analyze security` may find, in tenths. */
const UNITS = [
  ['shoal-coordinator', 12],
  ['shoald', 15],
] as const

const REQUIRED = [
  'Type=notify',
  'NotifyAccess=all',
  'WatchdogSec=10',
  'Restart=always',
  // a process that needs an operator is not restarted
  'RestartPreventExitStatus=64 65 77 78',
  'DynamicUser=yes',
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
]

const missing = spawnSync('systemd-analyze', ['--version']).error !== undefined
const skip = missing && 'systemd-analyze is not installed'

for (const [name, threshold] of UNITS)
  t.test(`the unit ${name}`, async t => {
    const text = readFileSync(new URL(`../../systemd/${name}.service`, import.meta.url), 'utf8')
    for (const line of REQUIRED) t.ok(text.split('\n').includes(line), line)

    t.test(`is valid, and its exposure is at most ${threshold / 10}`, { skip }, async t => {
      const folder = mkdtempSync(join(tmpdir(), 'shoal-unit-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const file = join(folder, `${name}.service`)
      // the program is not installed here, and verify looks for it
      writeFileSync(file, text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'))
      const analyze = (...args: string[]) => spawnSync('systemd-analyze', [...args, file])
      const verified = analyze('verify')
      t.equal(verified.status, 0)
      t.equal(String(verified.stderr), '')
      const judged = analyze('security', '--offline=yes', `--threshold=${threshold}`)
      t.equal(judged.status, 0, String(judged.stdout).slice(-200))
    })
  })

/** What `shoald` gives itself to close everything after its answers have ended. */
const CLOSE_SECONDS = 9

t.test('the stop timeout of the daemon covers its drain time', async t => {
  const text = readFileSync(new URL('../../systemd/shoald.service', import.meta.url), 'utf8')
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
  t.ok(seconds > DaemonConfig.parse({}).drain_seconds + CLOSE_SECONDS)
})

const MIB = 1024 * 1024
/** Sockets, caches of SQLite, threads and the program itself, all outside of the heap of V8. */
const REST_BYTES = 128 * MIB
const UNITS_OF_SIZE = { M: MIB, G: 1024 * MIB } as const

const readUnit = (name: string): string =>
  readFileSync(new URL(`../../systemd/${name}.service`, import.meta.url), 'utf8')

const flagBytes = (text: string, flag: string): number =>
  Number(new RegExp(`--${flag}=(\\d+)`).exec(text)?.[1]) * MIB

const sizeOf = (text: string, setting: RegExp): number => {
  const [, count, unit = 'M'] = setting.exec(text) ?? []
  return Number(count) * UNITS_OF_SIZE[unit.toUpperCase() as 'M' | 'G']
}

const heapBytes = (text: string): number =>
  flagBytes(text, 'max-old-space-size') + 3 * flagBytes(text, 'max-semi-space-size')

t.test('the memory of the coordinator covers its heap and the answers that it holds', async t => {
  // readings of devices and findings are objects of the heap, the others are buffers beside it
  const inHeap = ['device_state_bytes', 'module_row_bytes', 'waiting_finding_bytes']
  const heldBytes = new Budgets(LimitsConfig.parse({})).list
    .filter(({ name }) => name.endsWith('_bytes') && !inHeap.includes(name))
    .reduce((sum, { budget }) => sum + budget.limits.total, 0)
  const unit = readUnit('shoal-coordinator')
  const needed = heapBytes(unit) + heldBytes + REST_BYTES
  t.ok(sizeOf(unit, /^MemoryMax=(\d+)([MG])$/m) >= needed)

  const compose = readFileSync(
    new URL('../../examples/replicas/compose.yaml', import.meta.url),
    'utf8',
  ).replaceAll('", "', ' ')
  t.ok(
    sizeOf(compose, /^ {2}mem_limit: (\d+)([mg])$/m) >= heapBytes(compose) + heldBytes + REST_BYTES,
  )
  const flagsOf = (text: string) => text.match(/--(?:max|min|initial|heap)-[a-z-]+=\d+/g)
  t.strictSame(flagsOf(compose), flagsOf(unit), 'a container has the flags of the unit')
  const allocatorOf = (text: string) => text.match(/MALLOC_\w+=\d+/g)
  t.strictSame(allocatorOf(compose), allocatorOf(unit), 'and its settings of the allocator')

  const images = readFileSync(new URL('../../Containerfile', import.meta.url), 'utf8')
  const units = [unit, readUnit('shoald')].join('\n')
  t.strictSame(flagsOf(images), flagsOf(units), 'and so have the images of Containerfile')
  t.strictSame(allocatorOf(images), allocatorOf(unit))
})

t.test('docs/limits.md has the bounds of the units', async t => {
  const docs = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  const units = [readUnit('shoal-coordinator'), readUnit('shoald')]
  const listed = (bound: string): string[] =>
    (new RegExp(`^\\| \`${bound}\`[^|]*\\|([^|]*)\\|([^|]*)\\|`, 'm').exec(docs) ?? [])
      .slice(1)
      .map(cell => cell.trim())
  for (const flag of ['--max-old-space-size', '--max-semi-space-size'])
    t.strictSame(
      listed(flag),
      units.map(unit => `${flagBytes(unit, flag.slice(2)) / MIB} MiB`),
      flag,
    )
  for (const setting of ['LimitNOFILE', 'TasksMax'])
    t.strictSame(
      listed(setting),
      units.map(unit => new RegExp(`^${setting}=(\\d+)$`, 'm').exec(unit)?.[1]),
      setting,
    )
  t.strictSame(
    listed('WatchdogSec'),
    units.map(unit => `${/^WatchdogSec=(\d+)$/m.exec(unit)?.[1]} s`),
  )
  t.match(listed('MemoryMax')[0], '1 GiB')
})

t.test('a process that ran out of heap leaves one line that says so', async t => {
  for (const name of ['shoal-coordinator', 'shoald']) {
    const [, script = ''] = /^ExecStopPost=\/bin\/sh -c '(.*)'$/m.exec(readUnit(name)) ?? []
    const say = (status: string) =>
      String(
        spawnSync('/bin/sh', ['-c', script.replaceAll('$$', '$')], { env: { EXIT_STATUS: status } })
          .stdout,
      )
    t.match(say('ABRT'), /^\S+: V8 has ended the process.* Raise --max-old-space-size.*\n$/)
    t.equal(say('0'), '')
  }
})
