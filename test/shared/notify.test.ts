import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { notifySystemd } from '../../shared/notify.ts'

t.test('systemd', async t => {
  const run = async (env: Record<string, string>, stalls: number[]) => {
    const sent: string[] = []
    const pauses: number[] = []
    const stop = new AbortController()
    let round = 0
    await notifySystemd({
      env,
      send: line => sent.push(line),
      signal: stop.signal,
      longestStallMs: () => stalls[round - 1] ?? 0,
      wait: async milliseconds => {
        pauses.push(milliseconds)
        if (++round > stalls.length) stop.abort()
      },
    })
    return { sent, pauses }
  }

  t.strictSame(await run({}, [0]), { sent: [], pauses: [] }, 'is told nothing when it is not there')
  t.strictSame(
    await run({ NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '9000000' }, [0, 4499, 4500, 10]),
    {
      sent: ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1', 'STOPPING=1'],
      pauses: [3000, 3000, 3000, 3000, 3000],
    },
    'gets a sign of life only when the event loop is fine',
  )
  t.strictSame((await run({ NOTIFY_SOCKET: '/x' }, [])).sent, ['READY=1'], 'without a watchdog')
})

t.test('the unit of the daemon', async t => {
  const text = readFileSync(new URL('../../systemd/shoald.service', import.meta.url), 'utf8')
  for (const line of [
    'Type=notify',
    'NotifyAccess=all',
    'RestartPreventExitStatus=77 78',
    'DynamicUser=yes',
    'NoNewPrivileges=yes',
    'CapabilityBoundingSet=',
    'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  ])
    t.ok(text.split('\n').includes(line), line)

  const missing = spawnSync('systemd-analyze', ['--version']).error !== undefined
  const skip = missing && 'systemd-analyze is not installed'
  t.test('is valid, and exposes little', { skip }, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-unit-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'shoald.service')
    // the program is not installed here, and verify looks for it
    writeFileSync(file, text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'))
    const analyze = (...args: string[]) => spawnSync('systemd-analyze', [...args, file])
    const verified = analyze('verify')
    t.equal(verified.status, 0, String(verified.stderr))
    t.equal(String(verified.stderr), '')
    t.equal(analyze('security', '--offline=yes', '--threshold=15').status, 0)
  })
})
