import t from 'tap'
import { listHosts } from '../../../../coordinator/discovery/entities/operations/discovery/list-hosts.ts'

const hostRow = (address: string, more: object = {}) => ({
  ...{ cell_id: 'cell_1', address, mac: null, is_own: false, ports: [] },
  ...more,
})
const mapRow = (address: string, mac: string | null, more: object = {}) => ({
  ...{ cell_id: 'cell_1', kind: 'neighbour', address, mac, state: 'stale' },
  ...{ interface_kind: 'ethernet', ...more },
})
const mdnsRow = (host: string, ...addresses: string[]) => ({ host, addresses, is_host_gone: false })

t.test('what several modules saw of one machine is one host', async t => {
  const ssh = { port: 22, name: 'ssh', product: 'OpenSSH', title: null }
  const hosts = listHosts([
    {
      module: 'host-scan',
      rows: [
        hostRow('127.0.0.1', { is_own: true, ports: [ssh] }),
        hostRow('10.0.0.1', { is_own: true }),
        hostRow('10.0.0.10', { mac: '02:00:00:00:00:0a' }),
        hostRow('10.0.0.9', { mac: '02:00:00:00:00:09', ports: [ssh] }),
      ],
    },
    {
      module: 'network-map',
      rows: [
        mapRow('fd00::9', '02:00:00:00:00:09'),
        mapRow('10.0.0.77', null, { state: 'incomplete' }),
        mapRow('172.17.0.2', '02:42:00:00:00:02', { interface_kind: 'container' }),
      ],
    },
    { module: 'mdns-scan', rows: [mdnsRow('nas.local', 'fd00::9'), { host: null, addresses: [] }] },
    { module: 'runtime-discover', rows: [{ host: '10.0.0.200' }] },
  ])
  t.strictSame(
    hosts,
    [
      {
        ...{ name: null, addresses: ['10.0.0.10'], mac: '02:00:00:00:00:0a', ports: [] },
        ...{ cell_id: null, found_by: ['host-scan'] },
      },
      {
        ...{ name: null, addresses: ['127.0.0.1', '10.0.0.1'], mac: null, ports: [ssh] },
        ...{ cell_id: 'cell_1', found_by: ['host-scan'] },
      },
      {
        ...{ name: 'nas.local', addresses: ['10.0.0.9', 'fd00::9'], mac: '02:00:00:00:00:09' },
        ...{ ports: [ssh], cell_id: null, found_by: ['host-scan', 'network-map', 'mdns-scan'] },
      },
    ].toSorted(
      (one, other) =>
        one.addresses[0]?.localeCompare(other.addresses[0] ?? '', 'en', { numeric: true }) ?? 0,
    ),
  )
})
