import * as z from 'zod'
import type { ModuleRows } from './run-modules.ts'

const OpenPort = z.object({
  port: z.int(),
  name: z.string(),
  product: z.string().nullable(),
  title: z.string().nullable(),
})

/** A machine that a scan has found. */
export const FoundHost = z.object({
  name: z.string().nullable().describe('Name that it announces; null when it announces none.'),
  addresses: z.array(z.string()),
  mac: z.string().nullable(),
  ports: z.array(OpenPort).describe('Open ports among the common ones.'),
  cell_id: z.string().nullable().describe('The cell that it is; null for another machine.'),
  found_by: z.array(z.string()).describe('Modules that saw it.'),
})
export type FoundHost = z.infer<typeof FoundHost>

/* Rows of the modules, as far as they tell hosts. */

const HostRow = z.object({
  cell_id: z.string(),
  address: z.string(),
  mac: z.string().nullable(),
  is_own: z.boolean(),
  ports: z.array(OpenPort),
})

const MapRow = z.object({
  kind: z.enum(['neighbour', 'gateway']),
  address: z.string(),
  mac: z.string().nullable(),
  state: z.string().nullable(),
  interface_kind: z.string(),
})

const MdnsRow = z.object({
  host: z.string().nullable(),
  addresses: z.array(z.string()).min(1),
  is_host_gone: z.boolean(),
})

/** Part of what is known of a host; parts with an address or a MAC in common are of one host. */
interface Trace {
  name?: string | null
  addresses: readonly string[]
  mac?: string | null
  ports?: readonly z.infer<typeof OpenPort>[]
  cellId?: string
}

/** Machines in the rows of several modules. */
export const listHosts = (found: readonly ModuleRows[]): FoundHost[] => {
  const hosts: FoundHost[] = []
  for (const { module, rows } of found)
    for (const row of rows) {
      const trace = READERS[module]?.(row)
      if (trace !== undefined) merge(hosts, trace, module)
    }
  return hosts.toSorted((one, other) => compareText(keyOf(one), keyOf(other)))
}

const READERS: Readonly<Record<string, (row: object) => Trace | undefined>> = {
  'host-scan': row => {
    const { data } = HostRow.safeParse(row)
    return (
      data && { ...data, addresses: [data.address], ...(data.is_own && { cellId: data.cell_id }) }
    )
  },
  'network-map': row => {
    const { data } = MapRow.safeParse(row)
    if (data === undefined || data.interface_kind === 'container') return undefined
    // the kernel asks for addresses without a machine too
    const isSilent = data.mac === null && data.kind === 'neighbour'
    return isSilent || data.state === 'failed' ? undefined : { ...data, addresses: [data.address] }
  },
  'mdns-scan': row => {
    const { data } = MdnsRow.safeParse(row)
    return data === undefined || data.is_host_gone ? undefined : { ...data, name: data.host }
  },
}

const merge = (hosts: FoundHost[], trace: Trace, module: string): void => {
  const same = hosts.filter(host => isSame(host, trace))
  const host = same[0] ?? createHost()
  if (same.length === 0) hosts.push(host)
  for (const other of same.slice(1)) {
    absorb(host, other)
    hosts.splice(hosts.indexOf(other), 1)
  }
  const { name = null, addresses, mac = null, ports = [], cellId = null } = trace
  absorb(host, {
    ...{ name, addresses: [...addresses], mac, ports: [...ports] },
    ...{ cell_id: cellId, found_by: [module] },
  })
}

const createHost = (): FoundHost => ({
  ...{ name: null, addresses: [], mac: null, ports: [], cell_id: null, found_by: [] },
})

const isSame = (host: FoundHost, { addresses, mac, cellId }: Trace): boolean =>
  addresses.some(address => host.addresses.includes(address)) ||
  (mac != null && host.mac === mac) ||
  (cellId !== undefined && host.cell_id === cellId)

const absorb = (host: FoundHost, other: FoundHost): void => {
  host.name ??= other.name
  host.mac ??= other.mac
  host.cell_id ??= other.cell_id
  host.addresses = [...new Set([...host.addresses, ...other.addresses])]
  host.found_by = [...new Set([...host.found_by, ...other.found_by])]
  const known = new Set(host.ports.map(({ port }) => port))
  host.ports = [...host.ports, ...other.ports.filter(({ port }) => !known.has(port))]
}

const keyOf = ({ addresses, mac }: FoundHost): string => addresses[0] ?? mac ?? ''

const compareText = (one: string, other: string): number =>
  one.localeCompare(other, 'en', { numeric: true })
