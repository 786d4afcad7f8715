/* Rows of scans, as cells send them. */

interface MapRow {
  kind?: 'neighbour' | 'gateway' | 'own'
  address?: string
  mac?: string
  is_gateway?: boolean
}

export const mapRow = (more: MapRow) => ({
  kind: 'neighbour',
  address: '10.0.0.9',
  prefix_length: null,
  mac: null,
  mac_kind: 'global',
  state: 'reachable',
  interface: 'eth0',
  interface_kind: 'ethernet',
  is_gateway: false,
  is_router: false,
  ...more,
})

export const mdnsRow = (more: object) => ({
  instance: 'thing',
  type: '_airplay._tcp',
  interface: 'eth0',
  host: null,
  port: 7000,
  addresses: [],
  ttl_s: 120,
  txt: {},
  vendor: null,
  model: null,
  serial: null,
  firmware: null,
  device_id: null,
  macs: [],
  is_gone: false,
  is_host_gone: false,
  ...more,
})

export const bleRow = (more: object) => ({
  address_kind: 'public',
  name: null,
  rssi_dbm: -60,
  tx_power_dbm: null,
  is_connectable: null,
  advertisements: 1,
  company_id: null,
  company: null,
  services: [],
  ibeacon: null,
  eddystone: [],
  bthome: null,
  battery_percent: null,
  protocols: [],
  is_simulated: false,
  ...more,
})

export const wifiRow = (more: object) => ({
  is_hidden: false,
  interface: 'wlan0',
  band: '2.4_ghz',
  frequency_mhz: 2412,
  channel: 1,
  width_mhz: 20,
  signal_dbm: -50,
  signal_percent: null,
  security: 'wpa2',
  security_modes: ['wpa2'],
  age_s: 1,
  is_cached: false,
  is_connected: false,
  is_twin_suspected: false,
  source: 'iw',
  ...more,
})

interface SnmpRow {
  ip?: string
  engine_id?: string | null
  /** MAC addresses of its interfaces, of stations, and of neighbours. */
  interfaces?: readonly string[]
  stations?: readonly string[]
  chassis?: readonly string[]
}

export const snmpRow = ({ interfaces = [], stations = [], chassis = [], ...more }: SnmpRow) => ({
  ip: '10.0.0.9',
  version: '2c',
  engine_id: null,
  engine_vendor: null,
  engine_mac: null,
  name: 'switch',
  description: null,
  object_id: null,
  enterprise: null,
  vendor: null,
  model: null,
  serial: null,
  firmware: null,
  uptime_s: 1,
  location: null,
  contact: null,
  is_router: null,
  is_bridge: true,
  interfaces: interfaces.map((mac, n) => ({
    index: n,
    name: `port${n}`,
    alias: null,
    mac,
    admin_up: true,
    oper_up: true,
    speed_mbps: 1000,
    in_bytes: null,
    out_bytes: null,
  })),
  components: [],
  neighbours: chassis.map(chassis_id => ({
    local_port: null,
    chassis_id,
    chassis_mac: null,
    port_id: null,
    port_description: null,
    system_name: null,
    system_description: null,
  })),
  stations: stations.map(mac => ({ mac, vlan: null, port: null })),
  default_credentials: null,
  is_truncated: false,
  ...more,
})
