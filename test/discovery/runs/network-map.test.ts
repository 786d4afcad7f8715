import t from 'tap'
import networkMap from '../../../discovery/modules/network/network-map.ts'
import { Interfaces, Neighbours, Routes } from '../../../discovery/runs/network/map/ip-answers.ts'
import { listMapRows } from '../../../discovery/runs/network/map/map-rows.ts'

/** Answers of `ip -json` on a machine with Docker, wifi and a virtual router. */
const STATE = {
  interfaces: Interfaces.parse([
    {
      ifname: 'lo',
      link_type: 'loopback',
      address: '00:00:00:00:00:00',
      addr_info: [{ local: '127.0.0.1', prefixlen: 8, scope: 'host' }],
    },
    {
      ifname: 'wlan0',
      link_type: 'ether',
      address: 'DC:A6:32:01:02:03',
      addr_info: [
        { local: '192.168.1.20', prefixlen: 24, scope: 'global' },
        { local: 'fe80::dea6:32ff:fe01:203', prefixlen: 64, scope: 'link' },
      ],
    },
    {
      ifname: 'docker0',
      link_type: 'ether',
      address: '02:42:ac:11:00:01',
      linkinfo: { info_kind: 'bridge' },
      addr_info: [{ local: '172.17.0.1', prefixlen: 16, scope: 'global' }],
    },
    { ifname: 'wg0', link_type: 'none', linkinfo: { info_kind: 'wireguard' } },
  ]),
  neighbours: Neighbours.parse([
    { dst: '192.168.1.1', dev: 'wlan0', lladdr: '00:00:5e:00:01:0a', state: ['REACHABLE'] },
    { dst: '192.168.1.7', dev: 'wlan0', lladdr: 'B8:27:EB:aa:bb:cc', state: ['STALE'] },
    { dst: '192.168.1.8', dev: 'wlan0', lladdr: '5a:00:00:00:00:01', state: ['DELAY'] },
    { dst: '192.168.1.9', dev: 'wlan0', state: ['FAILED'] },
    { dst: '224.0.0.251', dev: 'wlan0', lladdr: '01:00:5e:00:00:fb', state: ['NOARP'] },
    { dst: '172.17.0.2', dev: 'docker0', lladdr: '02:42:ac:11:00:02', state: ['REACHABLE'] },
    { dst: 'fe80::1', dev: 'wlan0', lladdr: 'b8:27:eb:00:00:01', router: null, state: ['STALE'] },
  ]),
  routes: Routes.parse([
    { dst: 'default', gateway: '192.168.1.1', dev: 'wlan0' },
    { dst: '10.8.0.0/24', gateway: '10.9.0.1', dev: 'wg0' },
    { dst: '192.168.1.0/24', dev: 'wlan0' },
    { dst: 'default', nexthops: [{ gateway: 'fe80::1', dev: 'wlan0' }] },
  ]),
}

const rows = listMapRows(STATE, name => name === 'wlan0')
const rowOf = (address: string) => rows.find(each => each.address === address)

t.test('neighbours, gateways and own addresses are told apart', async t => {
  for (const row of rows) networkMap.row.parse(row)
  t.strictSame(
    rows.map(({ kind, address }) => `${kind} ${address}`),
    [
      'own 192.168.1.20',
      'own fe80::dea6:32ff:fe01:203',
      'own 172.17.0.1',
      'neighbour 192.168.1.1',
      'neighbour 192.168.1.7',
      'neighbour 192.168.1.8',
      'neighbour 192.168.1.9',
      'neighbour 172.17.0.2',
      'neighbour fe80::1',
      'gateway 10.9.0.1',
    ],
  )
  t.match(rowOf('192.168.1.1'), { mac_kind: 'virtual_router', is_gateway: true, is_router: true })
  t.match(rowOf('192.168.1.7'), { mac: 'b8:27:eb:aa:bb:cc', mac_kind: 'global', state: 'stale' })
  t.match(rowOf('192.168.1.8'), { mac_kind: 'local', interface_kind: 'wifi', is_router: false })
  t.match(rowOf('172.17.0.2'), { mac_kind: 'container', interface_kind: 'container' })
  t.match(rowOf('fe80::1'), { is_gateway: true, is_router: true })
  t.match(rowOf('10.9.0.1'), { is_gateway: false, is_router: true, interface_kind: 'tunnel' })
})

t.test('a sighting has only keys that are of one machine', async t => {
  const keysOf = (address: string) =>
    networkMap
      .observe?.({ ...rowOf(address) }, { cellId: 'cell-1' })
      .map(({ keys }) => keys.map(({ kind, value }) => `${kind} ${value}`))
  t.strictSame(keysOf('192.168.1.7'), [['mac b8:27:eb:aa:bb:cc', 'ip 192.168.1.7']])
  t.strictSame(keysOf('192.168.1.8'), [['private_mac 5a:00:00:00:00:01', 'ip 192.168.1.8']])
  t.strictSame(keysOf('192.168.1.1'), [['ip 192.168.1.1']], 'a virtual router moves')
  t.strictSame(keysOf('fe80::1'), [['mac b8:27:eb:00:00:01']], 'link-local addresses repeat')
  t.strictSame(keysOf('192.168.1.9'), [], 'nobody answered')
  t.strictSame(keysOf('172.17.0.2'), [], 'a container')
  t.strictSame(keysOf('192.168.1.20'), [
    ['shoal_cell cell-1', 'mac dc:a6:32:01:02:03', 'ip 192.168.1.20'],
  ])
})
