import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { hasLost, isConflict } from '../../../../coordinator/kernel/publish/conflicts.ts'
import { listPublishedLinks } from '../../../../coordinator/kernel/publish/open.ts'
import { createRecords } from '../../../../coordinator/kernel/publish/service-records.ts'
import { Avahi } from '../../../support/avahi.ts'
import {
  NetworkLab,
  namespacesMissing,
  programMissing,
  waitForLine,
} from '../../../support/network-lab.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const script = `${import.meta.dirname}/../../../support/lab-publish.ts`

const publish = async (lab: NetworkLab, host: string, nodeId: string, port: number) => {
  const child = lab.start(host, process.execPath, [script, nodeId, String(port)])
  const { instance } = JSON.parse(await waitForLine(child, /instance/))
  return { child, instance: instance as string }
}

const end = async (child: ChildProcess): Promise<void> => {
  child.stdin?.end()
  await once(child, 'exit')
}

const skip = namespacesMissing || programMissing('avahi-daemon') || programMissing('avahi-browse')

t.test(
  'avahi finds announced coordinators, and the second of a name renames itself',
  { skip },
  async t => {
    await using lab = new NetworkLab()
    for (const [at, name] of ['one', 'two', 'watcher'].entries())
      lab.addHost(name, `10.9.0.${at + 2}/24`)
    const first = await publish(lab, 'one', 'shoal-abc', 7070)
    t.equal(first.instance, 'shoal-abc._shoal._tcp.local')
    const second = await publish(lab, 'two', 'shoal-abc', 7071)
    t.equal(second.instance, 'shoal-abc (2)._shoal._tcp.local')
    using watcher = await Avahi.start(lab, 'watcher')
    t.strictSame(await watcher.browse(), [
      'shoal-abc (2)|_shoal._tcp|shoal-abc-2.local|7071|10.9.0.3',
      'shoal-abc|_shoal._tcp|shoal-abc.local|7070|10.9.0.2',
    ])
    await end(second.child)
    await waitUntil('the goodbye is heard', async () => (await watcher.browse()).length === 1)
    await end(first.child)
  },
)

t.test('two coordinators that start at once end with different names', { skip }, async t => {
  await using lab = new NetworkLab()
  lab.addHost('one', '10.9.0.2/24')
  lab.addHost('two', '10.9.0.3/24')
  const both = await Promise.all([
    publish(lab, 'one', 'shoal-abc', 7070),
    publish(lab, 'two', 'shoal-abc', 7071),
  ])
  t.strictSame(both.map(({ instance }) => instance).toSorted(), [
    'shoal-abc (2)._shoal._tcp.local',
    'shoal-abc._shoal._tcp.local',
  ])
  await Promise.all(both.map(({ child }) => end(child)))
})

const link = (name: string, isLoopback: boolean, ...addresses: string[]) => ({
  name,
  address: addresses[0] ?? '',
  cidr: `${addresses[0]}/24`,
  isLoopback,
  addresses,
})

t.test('only interfaces that the listener uses carry the announcement', async t => {
  const links = [
    link('lo', true, '127.0.0.1', '::1'),
    link('eth0', false, '10.9.0.2', '2001:db8::2', 'fe80::2'),
    link('eth1', false, '10.8.0.2'),
  ]
  for (const [host, expected] of [
    ['127.0.0.1', []],
    ['10.9.0.2', [['eth0', '10.9.0.2']]],
    ['[2001:db8::2]', [['eth0', '2001:db8::2']]],
    [
      '0.0.0.0',
      [
        ['eth0', '10.9.0.2'],
        ['eth1', '10.8.0.2'],
      ],
    ],
    [
      '::',
      [
        ['eth0', '10.9.0.2', '2001:db8::2'],
        ['eth1', '10.8.0.2'],
      ],
    ],
  ] as const)
    t.strictSame(
      listPublishedLinks(host, links).map(({ name, announced }) => [name, ...announced]),
      expected,
      host,
    )
  t.equal(CoordinatorConfig.parse({ gates: undefined }).http.publish, true)
})

t.test(
  'a record of the same name with other data is a conflict, and the greater probe wins',
  async t => {
    const own = createRecords({ nodeId: 'shoal-abc', port: 7070, txt: {} }, 1, ['10.9.0.2'])
    const service = { name: own.instance, ttl_s: 120, isFlush: true, type: 'SRV' } as const
    t.notOk(isConflict({ ...service, target: 'SHOAL-ABC.local', port: 7070 }, own))
    t.ok(isConflict({ ...service, target: 'shoal-abc.local', port: 7071 }, own))
    t.notOk(isConflict({ ...service, ttl_s: 0, target: 'other.local', port: 1 }, own), 'a goodbye')
    const host = { name: own.host, ttl_s: 120, isFlush: true, type: 'A' } as const
    t.notOk(isConflict({ ...host, address: '10.9.0.2' }, own))
    t.ok(isConflict({ ...host, address: '10.9.0.3' }, own))
    t.ok(hasLost([{ ...service, target: 'shoal-abc.local', port: 7071 }], own))
    t.notOk(hasLost([{ ...service, target: 'shoal-abc.local', port: 7069 }], own))
    t.notOk(hasLost([{ ...service, target: 'shoal-abc.local', port: 7070 }], own), 'an own probe')
  },
)
