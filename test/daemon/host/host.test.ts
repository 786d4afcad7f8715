import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parsePrettyName, readHostFacts } from '../../../daemon/host/facts.ts'
import {
  computeCpuPercent,
  computeNetworkRates,
  parseCpu,
  parseMemory,
  parseNetwork,
} from '../../../daemon/host/proc.ts'
import { createHostSampler } from '../../../daemon/host/sampler.ts'
import { HostFacts } from '../../../shared/wire/announce.ts'
import { HostSample } from '../../../shared/wire/telemetry.ts'

const STAT = 'cpu  100 0 50 800 50 0 0 0 10 0\ncpu0 100 0 50 800 50 0 0 0 10 0\nintr 5\n'
const LATER = 'cpu  150 0 100 850 100 0 0 0 10 0\ncpu0 0 0 0 0\n'
const MEMINFO = 'MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     600 kB\n'
const NETWORK = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0
wlan0:2000 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0
`

t.test('/proc files are parsed, and missing values are unknown', async t => {
  const [before, after] = [parseCpu(STAT), parseCpu(LATER)]
  t.strictSame(before, { busy: 150, total: 1000 })
  t.equal(computeCpuPercent(before, after), 50)
  t.equal(computeCpuPercent(before, before), null, 'no time between two readings is unknown')
  t.equal(computeCpuPercent(null, after), null)
  t.equal(computeCpuPercent(before, { busy: 150, total: 1100 }), 0)
  t.equal(parseCpu('intr 5'), null)

  t.strictSame(parseMemory(MEMINFO), { total: 1_024_000, used: 409_600 })
  t.strictSame(parseMemory('MemTotal: 1000 kB\n'), { total: 1_024_000, used: null })
  t.strictSame(parseMemory(''), { total: null, used: null })

  const counters = parseNetwork(NETWORK)
  t.strictSame(
    [...counters],
    [
      ['eth0', { received: 1000, sent: 500 }],
      ['wlan0', { received: 2000, sent: 50 }],
    ],
  )
  t.strictSame(computeNetworkRates(null, counters, 1000), { received: null, sent: null })
  t.strictSame(computeNetworkRates(counters, counters, 1000), { received: 0, sent: 0 })
  const grown = new Map([
    ['eth0', { received: 3000, sent: 600 }],
    ['wlan0', { received: 10, sent: 10 }],
    ['new0', { received: 10_000, sent: 10_000 }],
  ])
  t.strictSame(
    computeNetworkRates(counters, grown, 2000),
    { received: 1000, sent: 50 },
    'an interface that is new, or was made anew, is not counted',
  )
})

t.test('the host sampler computes rates between two samples', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-host-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'net'))
  writeFileSync(join(folder, 'stat'), STAT)
  writeFileSync(join(folder, 'meminfo'), MEMINFO)
  writeFileSync(join(folder, 'net/dev'), NETWORK)
  let clock = 0
  const sampler = createHostSampler({ stateDir: folder, procFolder: folder, now: () => clock })

  const first = await sampler.sample()
  t.strictSame(HostSample.parse(first), first)
  t.equal(first.cpu_percent, null, 'a rate is unknown at first')
  t.equal(first.network_received_bytes_per_second, null)
  t.equal(first.memory_used_bytes, 409_600)
  t.ok(Number(first.disk_total_bytes) > Number(first.disk_used_bytes))

  clock = 1000
  writeFileSync(join(folder, 'stat'), LATER)
  writeFileSync(join(folder, 'net/dev'), NETWORK.replace('eth0: 1000', 'eth0: 1700'))
  const second = await sampler.sample()
  t.equal(second.cpu_percent, 50)
  t.equal(second.network_received_bytes_per_second, 700)
  t.equal(second.network_sent_bytes_per_second, 0)

  const blind = await createHostSampler({ stateDir: '/none', procFolder: '/none' }).sample()
  t.ok(
    Object.values(blind).every(value => value === null),
    'what cannot be read is unknown',
  )

  const real = await createHostSampler({ stateDir: folder }).sample()
  t.ok(Number(real.memory_total_bytes) > 0, 'this machine can be read')
})

t.test('the host facts are read and match the wire schema', async t => {
  const facts = await readHostFacts()
  t.strictSame(HostFacts.parse(facts), facts)
  t.equal(
    parsePrettyName('NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'),
    'Debian GNU/Linux 12 (bookworm)',
  )
  t.equal(parsePrettyName('PRETTY_NAME=plain\n'), 'plain')
  t.equal(parsePrettyName(''), 'Linux')
})
