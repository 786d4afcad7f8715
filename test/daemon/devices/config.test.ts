import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import { findFileFaults } from '../../../daemon/devices/config-faults.ts'
import type { CheckSubject } from '../../../daemon/doctor/check.ts'
import { devices } from '../../../daemon/doctor/machine-checks.ts'
import { describeConfigFault } from '../../../shared/config-fault.ts'

const BROKER = { kind: 'mqtt', name: 'home', url: 'mqtt://127.0.0.1' }

t.test('two devices with one name are refused with both keys', async t => {
  const links = [
    { kind: 'sim', devices: [{ name: 'rover-1', profile: 'sim-rover' }] },
    { kind: 'bambu', name: 'rover-1', serial: '01P00A000000001', host: '127.0.0.1' },
  ].map(link => (link.kind === 'bambu' ? { ...link, access_code_file: '/etc/code' } : link))
  const values = { devices: { links } }
  const [issue] = DaemonConfig.safeParse(values).error?.issues ?? []
  t.match(
    issue && describeConfigFault(DaemonConfig, values, issue),
    /^devices\.links\.1\.name is "rover-1": links\.0\.devices\.0\.name is rover-1, too; give each/,
  )
  const another = { ...BROKER, devices: [] }
  t.ok(DaemonConfig.safeParse({ devices: { links: [BROKER, another] } }).success, 'brokers may')
})

const describe = (link: object): (string | undefined)[] => {
  const values = { devices: { links: [link] } }
  const { issues = [] } = DaemonConfig.safeParse(values).error ?? {}
  return issues.map(issue => describeConfigFault(DaemonConfig, values, issue))
}

t.test('a declared device whose parts do not fit together is refused at the start', async t => {
  const kiln = {
    kind: 'http',
    name: 'kiln',
    url: 'http://127.0.0.1:8080',
    properties: { temperature_celsius: {} },
  }
  t.match(describe(kiln), [/^devices\.links\.0\.state: is missing.*: add the path.*\/state \}$/])
  t.strictSame(describe({ ...kiln, properties: {} }), [])
  t.strictSame(describe({ ...kiln, state: { path: '/state' } }), [])

  const heat = { description: 'Heat.', path: '/heat/{program}', body: { to: '{celcius}' } }
  const params = { celsius: { type: 'number' } }
  const verbs = { heat: { ...heat, params } }
  const faulty = { ...kiln, state: { path: '/state' }, verbs, estop_verb: 'of' }
  t.match(describe(faulty), [
    /verbs\.heat\.path .*\{program\}, which is not a parameter of heat/,
    /verbs\.heat\.body .*\{celcius\}/,
    /estop_verb .*of is not a verb of this device/,
  ])
  t.match(describe({ ...faulty, estop_verb: 'heat' }).at(-1), /heat has parameters/)

  const off = { description: 'Off.', topic: 'a/set', payload: 'OFF' }
  const confirm = { property: 'on', value: false }
  const device = { name: 'laser', verbs: { off: { ...off, confirm } }, estop_verb: 'off' }
  t.match(describe({ ...BROKER, devices: [device] }), [/off\.confirm\.property .*declare it/])
  const on = { topic: 'a/state', type: 'boolean' }
  t.strictSame(describe({ ...BROKER, devices: [{ ...device, properties: { on } }] }), [])
})

t.test('a missing file of a link is found with its key and file', async t => {
  const folder = t.testdir()
  const [secret, empty] = [join(folder, 'secret'), join(folder, 'empty')]
  await writeFile(secret, 'x\n')
  await writeFile(empty, '')
  const { devices: configured } = DaemonConfig.parse({
    devices: {
      links: [
        { ...BROKER, password_file: secret },
        { ...BROKER, password_file: empty },
        { ...BROKER, url: 'mqtts://127.0.0.1', ca_file: join(folder, 'gone.pem') },
      ],
    },
  })
  const faults = await findFileFaults(configured.links)
  t.match(faults, [
    /^devices\.links\.1\.password_file: .*empty must hold one line/,
    /^devices\.links\.2\.ca_file: the certificate file .*gone\.pem cannot be read: ENOENT/,
  ])
  t.equal(faults.length, 2)
  const patient = { config: { devices: configured } } as CheckSubject
  t.match(await devices(patient), {
    state: 'fail',
    says: /password_file/,
    remedy: /create the file/,
  })
  const sound = { config: { devices: { links: configured.links.slice(0, 1) } } } as CheckSubject
  t.match(await devices(sound), { state: 'ok' })
})
