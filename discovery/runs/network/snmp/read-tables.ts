import type { SnmpSession } from './session.ts'
import { formatMac, readCounter, readMac, readNumber, readText, readUnsigned } from './values.ts'
import { type SnmpTable, walkTable } from './walk.ts'

const TEXT = 64
const LONG_TEXT = 256

/** IF-MIB (RFC 2863): ifTable and ifXTable. */
const IF_ENTRY = '1.3.6.1.2.1.2.2.1'
const IFX_ENTRY = '1.3.6.1.2.1.31.1.1.1'
const MAX_INTERFACES = 96

export const readInterfaces = async (session: SnmpSession) => {
  const limits = { maxRows: MAX_INTERFACES }
  const plain = await walkTable(session, { entry: IF_ENTRY, columns: [2, 5, 6, 7, 8], ...limits })
  const more = await walkTable(session, {
    entry: IFX_ENTRY,
    columns: [1, 6, 10, 15, 18],
    ...limits,
  })
  const interfaces = [...plain.rows].map(([index, row]) => {
    const extra = more.rows.get(index)
    return {
      index: Number(index),
      name: readText(extra?.get(1), TEXT) ?? readText(row.get(2), TEXT) ?? index,
      alias: readText(extra?.get(18), TEXT),
      mac: readMac(row.get(6)),
      admin_up: isUp(row.get(7)),
      oper_up: isUp(row.get(8)),
      speed_mbps: readUnsigned(extra?.get(15)) ?? toMegabits(readUnsigned(row.get(5))),
      in_bytes: readCounter(extra?.get(6)),
      out_bytes: readCounter(extra?.get(10)),
    }
  })
  return {
    interfaces: interfaces.filter(({ index }) => Number.isInteger(index)),
    isTruncated: plain.isTruncated || more.isTruncated,
  }
}

const isUp = (value: unknown): boolean | null => (typeof value === 'number' ? value === 1 : null)

const toMegabits = (bits: number | null): number | null => (bits === null ? null : bits / 1e6)

/** ENTITY-MIB (RFC 6933): entPhysicalTable. */
const ENTITY_ENTRY = '1.3.6.1.2.1.47.1.1.1.1'
const MAX_COMPONENTS = 32

/** PhysicalClass (RFC 6933). */
const CLASSES = [
  '',
  'other',
  'unknown',
  'chassis',
  'backplane',
  'container',
  'power_supply',
  'fan',
  'sensor',
  'module',
  'port',
  'stack',
  'cpu',
]

export const readComponents = async (session: SnmpSession) => {
  const { rows, isTruncated } = await walkTable(session, {
    entry: ENTITY_ENTRY,
    columns: [2, 5, 7, 8, 9, 10, 11, 12, 13],
    maxRows: MAX_COMPONENTS,
  })
  const components = [...rows].map(([index, row]) => ({
    index: Number(index),
    description: readText(row.get(2), TEXT),
    name: readText(row.get(7), TEXT),
    class: CLASSES[readNumber(row.get(5)) ?? 0] || null,
    manufacturer: readText(row.get(12), TEXT),
    model: readText(row.get(13), TEXT),
    serial: readText(row.get(11), TEXT),
    hardware: readText(row.get(8), TEXT),
    firmware: readText(row.get(9), TEXT),
    software: readText(row.get(10), TEXT),
  }))
  return { components: components.filter(({ index }) => Number.isInteger(index)), isTruncated }
}

/** LLDP-MIB (IEEE 802.1AB-2005, 12.2): lldpRemTable, and lldpLocPortTable for the own ports. */
const LLDP_REMOTE_ENTRY = '1.0.8802.1.1.2.1.4.1.1'
const LLDP_LOCAL_PORT_ENTRY = '1.0.8802.1.1.2.1.3.7.1'
const MAX_NEIGHBOURS = 48

/** LldpChassisIdSubtype and LldpPortIdSubtype of a MAC address. */
const CHASSIS_MAC = 4
const PORT_MAC = 3

export const readNeighbours = async (session: SnmpSession) => {
  const remote = await walkTable(session, {
    entry: LLDP_REMOTE_ENTRY,
    columns: [4, 5, 6, 7, 8, 9, 10],
    maxRows: MAX_NEIGHBOURS,
  })
  const ports =
    remote.rows.size === 0
      ? new Map()
      : (
          await walkTable(session, {
            entry: LLDP_LOCAL_PORT_ENTRY,
            columns: [4, 3],
            maxRows: MAX_INTERFACES,
          })
        ).rows
  const neighbours = [...remote.rows].map(([index, row]) => {
    // the index is time mark, local port, number
    const [, portNumber = ''] = index.split('.')
    const port = ports.get(portNumber)
    const chassisMac = row.get(4) === CHASSIS_MAC ? readMac(row.get(5)) : null
    const portMac = row.get(6) === PORT_MAC ? readMac(row.get(7)) : null
    return {
      local_port: readText(port?.get(4), TEXT) ?? readText(port?.get(3), TEXT) ?? portNumber,
      chassis_id: chassisMac ?? readText(row.get(5), TEXT),
      chassis_mac: chassisMac,
      port_id: portMac ?? readText(row.get(7), TEXT),
      port_description: readText(row.get(8), TEXT),
      system_name: readText(row.get(9), LONG_TEXT),
      system_description: readText(row.get(10), LONG_TEXT),
    }
  })
  return { neighbours, isTruncated: remote.isTruncated }
}

/** BRIDGE-MIB (RFC 4188) and Q-BRIDGE-MIB (RFC 4363): learned stations and numbers of ports. */
const FDB_ENTRY = '1.3.6.1.2.1.17.4.3.1'
const Q_FDB_ENTRY = '1.3.6.1.2.1.17.7.1.2.2.1'
const BASE_PORT_ENTRY = '1.3.6.1.2.1.17.1.4.1'
const PORT_COLUMN = 2
const MAX_STATIONS = 256

export const readStations = async (
  session: SnmpSession,
  interfaces: readonly { index: number; name: string }[],
) => {
  const limits = { columns: [PORT_COLUMN], maxRows: MAX_STATIONS }
  const byVlan = await walkTable(session, { entry: Q_FDB_ENTRY, ...limits })
  const table =
    byVlan.rows.size > 0 ? byVlan : await walkTable(session, { entry: FDB_ENTRY, ...limits })
  if (table.rows.size === 0) return { stations: [], isTruncated: false }
  const ports = await walkTable(session, { entry: BASE_PORT_ENTRY, ...limits })
  const nameOf = (port: number | null): string | null => {
    const index = ports.rows.get(String(port))?.get(PORT_COLUMN)
    return interfaces.find(each => each.index === index)?.name ?? null
  }
  return { stations: listStations(table, nameOf), isTruncated: table.isTruncated }
}

/** The last six numbers of an index are the address; Q-BRIDGE has the filtering database before. */
const listStations = ({ rows }: SnmpTable, nameOf: (port: number | null) => string | null) =>
  [...rows].flatMap(([index, row]) => {
    const numbers = index.split('.').map(Number)
    const mac = formatMac(numbers.slice(-6))
    if (mac === null) return []
    const vlan = numbers.length === 7 ? (numbers[0] ?? null) : null
    return [{ mac, vlan, port: nameOf(readNumber(row.get(PORT_COLUMN))) }]
  })
