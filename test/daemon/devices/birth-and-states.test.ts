import t, { type Test } from 'tap'
import { devicesCommand } from '../../../daemon/cli/devices.ts'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { listDevices, writeDeviceList } from '../../../daemon/devices/device-list-file.ts'
import { DevicesInBirth } from '../../../daemon/devices/devices-in-birth.ts'
import { devicesService } from '../../../daemon/services/devices.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import { Announce } from '../../../shared/wire/announce.ts'
import { DevicesBody, MAX_DEVICES } from '../../../shared/wire/device.ts'
import { MAX_PACKET_BYTES } from '../../../shared/wire/topics.ts'
import { silent } from '../../support/cell.ts'
import { DEV_A, DEV_B } from '../../support/device-ids.ts'
import { FakeLink } from '../../support/fake-link.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { NOW } from '../commands/rig.ts'

const CELL = Announce.parse({
  ...{ name: 'hall', version: '1', protocol: 1, gpus: [], engines: [], tags: [] },
  host: {
    ...{ hostname: 'hall', os: '', kernel: '', arch: '', cpu_model: '' },
    ...{ cpu_count: 1, memory_total_bytes: 1 },
  },
})

const logTo = (lines: unknown[]) => ({ warn: (line: unknown) => void lines.push(line) }) as never

const createHost = (link: FakeLink, lines: unknown[] = []) => {
  const clock = { now: () => NOW, nowMs: () => 0 }
  return new DeviceHost({ config: { site: 'hall' }, links: [link], ...clock, logger: logTo(lines) })
}

t.test('a birth lists each device with its limits, and each profile once', async t => {
  const link = new FakeLink()
  link.add(DEV_A, { envelope: { max_speed_m_s: 1 } })
  link.add(DEV_B, { site: 'yard', available: false, reason: 'no route' })
  const host = createHost(link)
  host.setEnvelopes({ fleet: { max_speed_m_s: 2 }, sites: { yard: { min_separation_m: 1 } } })
  const birth = Announce.parse(new DevicesInBirth(host, silent).addTo(CELL))
  t.match(birth.devices, [
    { device_id: DEV_A, site: 'hall', available: true, envelope: { max_speed_m_s: 1 } },
    { site: 'yard', reason: 'no route', envelope: { max_speed_m_s: 2, min_separation_m: 1 } },
  ])
  t.match(birth.device_profiles, [{ profile: 'fake-cart', verbs: { length: 3 } }])
  const drive = birth.device_profiles?.[0]?.verbs.find(({ verb }) => verb === 'drive-to')
  t.match(drive?.params, { type: 'object', required: ['x_m', 'y_m'] })
})

t.test('a birth fits into a packet, whatever the devices, and says what it leaves out', async t => {
  const lines: unknown[] = []
  const link = new FakeLink()
  const area = Array.from({ length: 64 }, (_, n): [number, number] => [n + 0.123456, n * 7])
  const envelope = { geofences: [{ frame: 'local' as const, area, keep_out: [area] }] }
  link.add(createDeviceId('long'), { name: 'x'.repeat(129) })
  for (let n = 0; n <= MAX_DEVICES; n++) link.add(createDeviceId(String(n)), { envelope })
  const inBirth = new DevicesInBirth(createHost(link, lines), logTo(lines))
  const birth = Announce.parse(inBirth.addTo(CELL))
  const bytes = Buffer.byteLength(JSON.stringify(birth))
  t.ok(bytes < MAX_PACKET_BYTES && bytes > MAX_PACKET_BYTES / 2, `${bytes} bytes`)
  const left = link.devices.length - (birth.devices?.length ?? 0)
  t.equal(lines.length, left, 'a line for each')
  t.match(JSON.stringify(lines), /devices\.0\.name/)
  t.match(JSON.stringify(lines), /too large/)
  inBirth.addTo(CELL)
  t.equal(lines.length, left, 'and no second one')
})

/** A service whose time the test passes. */
const serve = (t: Test, link: FakeLink) => {
  const published: DevicesBody[] = []
  const publish = async (_name: string, body: unknown) =>
    void published.push(DevicesBody.parse(body))
  let greet = (_session: never): void => {}
  let pass = (): void => {}
  const listChanges: number[] = []
  const service = devicesService({
    host: createHost(link),
    uplink: {
      onReady: listener => {
        greet = listener as never
        return () => {}
      },
      publishToAll: publish,
    },
    onListChange: () => listChanges.push(1),
    logger: silent,
    wait: () =>
      new Promise(resolve => {
        pass = resolve
      }),
  })
  const stop = new AbortController()
  t.teardown(() => {
    stop.abort()
    pass()
  })
  const start = () => service.start({ signal: stop.signal, fail: error => t.error(error) })
  const connect = () => greet({ publish } as never)
  return { start, published, listChanges, connect, pass: () => pass() }
}

t.test('a connect brings all states, and each interval only those that changed', async t => {
  const link = new FakeLink()
  link.add(DEV_A)
  link.add(DEV_B)
  link.set(DEV_A, NOW, { x_m: 1 })
  link.set(DEV_B, NOW, { x_m: 1 })
  const { start, published, connect, pass, listChanges } = serve(t, link)
  const idsOf = (body: DevicesBody | undefined) => body?.states.map(({ device_id }) => device_id)
  await start()
  connect()
  await waitUntil('all are published', async () => published.length === 1)
  t.strictSame(idsOf(published[0]), [DEV_A, DEV_B])
  link.set(DEV_A, NOW, { x_m: 2 })
  pass()
  await waitUntil('the first interval ends', async () => published.length === 2)
  link.set(DEV_B, NOW, { x_m: 2 })
  link.set(DEV_B, NOW, { x_m: 3 })
  t.equal(published.length, 2, 'nothing before the interval ends')
  pass()
  await waitUntil('the second interval ends', async () => published.length === 3)
  t.strictSame(idsOf(published[2]), [DEV_B])
  t.match(published[2], { states: [{ readings: { x_m: { value: 3 } } }] })
  t.strictSame(listChanges, [])
  link.add(DEV_B, { available: false })
  pass()
  await waitUntil('the change of the list is told', async () => listChanges.length === 1)
})

t.test('shoald devices prints what the daemon has listed, and whether it runs', async t => {
  const stateDir = t.testdir()
  const run = async (...argv: string[]) => {
    let text = ''
    const write = (more: string) => {
      text += more
    }
    const signal = new AbortController().signal
    const flags = ['--state-dir', stateDir, ...argv]
    const code = await devicesCommand({ argv: flags, env: {}, write, logger: silent, signal })
    return { code, text }
  }
  t.match(await run(), { code: 69, text: /No daemon runs with the state folder/ })
  const link = new FakeLink()
  const now = Date.now()
  link.add(DEV_A, { name: 'rover-1' })
  link.add(DEV_B, { name: 'arm', available: false, reason: 'no route' })
  link.set(DEV_A, now - 4000, { x_m: 1 })
  await writeDeviceList(stateDir, listDevices(createHost(link), now))
  const { code, text } = await run()
  t.equal(code, 0)
  t.match(text, /rover-1 +dev_\w+ +fake-cart +hall +\d+ s ago +available\n/)
  t.match(text, /arm +dev_\w+ +fake-cart +hall +never +not available: no route\n/)
  await writeDeviceList(stateDir, listDevices(createHost(link), now - 60_000))
  const old = await run('--format', 'json')
  t.equal(old.code, 69)
  t.match(JSON.parse(old.text), { is_running: false, devices: [{ name: 'rover-1' }, {}] })
})
