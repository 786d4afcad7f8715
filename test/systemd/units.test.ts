import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
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
  'RestartPreventExitStatus=64 77 78',
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
