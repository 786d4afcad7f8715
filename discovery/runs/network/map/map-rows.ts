import type { Interface, NeighbourEntry, Route } from './ip-answers.ts'
import { classifyMac, type MacKind } from './mac-kind.ts'
import type { NetworkState } from './read-network.ts'

type InterfaceKind = 'ethernet' | 'wifi' | 'bridge' | 'container' | 'tunnel' | 'other'

const STATES = [
  ...(['reachable', 'stale', 'delay', 'probe'] as const),
  ...(['permanent', 'incomplete', 'failed'] as const),
]
type NeighbourState = (typeof STATES)[number]

export interface MapRow {
  kind: 'neighbour' | 'gateway' | 'own'
  address: string
  prefix_length: number | null
  mac: string | null
  mac_kind: MacKind | null
  state: NeighbourState | null
  interface: string
  interface_kind: InterfaceKind
  is_gateway: boolean
  is_router: boolean
}

/** Names that container engines and hypervisors give to their bridges and pairs. */
const CONTAINER_NAME = /^(docker|br-[0-9a-f]{12}$|veth|cni|flannel|cali|podman|virbr|lxc|lxd)/
const TUNNELS = new Set(['tun', 'wireguard', 'gre', 'ipip', 'sit', 'vxlan', 'vti', 'ip6tnl'])

/** Rows of a network state: own addresses, neighbours, and routers that have no entry yet. */
export const listMapRows = (state: NetworkState, isWifi: (name: string) => boolean): MapRow[] => {
  const kindOf = (name: string): InterfaceKind => classifyInterface(name, state.interfaces, isWifi)
  const hops = listHops(state.routes)
  const isHop = ({ address, interface: name }: Hop): boolean =>
    !state.neighbours.some(({ dst, dev }) => dst === address && dev === name)
  return [
    ...state.interfaces.flatMap(each => ownRows(each, kindOf(each.ifname))),
    ...state.neighbours.filter(isMachine).map(each => neighbourRow(each, hops, kindOf(each.dev))),
    ...hops.filter(isHop).map(hop => gatewayRow(hop, kindOf(hop.interface))),
  ]
}

interface Hop {
  address: string
  interface: string
  isDefault: boolean
}

const listHops = (routes: readonly Route[]): Hop[] => {
  const hops = new Map<string, Hop>()
  for (const { dst, nexthops, ...own } of routes)
    for (const { gateway, dev = '' } of [own, ...nexthops]) {
      if (gateway === undefined) continue
      const known = hops.get(`${gateway} ${dev}`)
      const isDefault = dst === 'default' || known?.isDefault === true
      hops.set(`${gateway} ${dev}`, { address: gateway, interface: dev, isDefault })
    }
  return [...hops.values()]
}

const classifyInterface = (
  name: string,
  interfaces: readonly Interface[],
  isWifi: (name: string) => boolean,
): InterfaceKind => {
  if (CONTAINER_NAME.test(name)) return 'container'
  if (isWifi(name)) return 'wifi'
  const found = interfaces.find(({ ifname }) => ifname === name)
  const kind = found?.linkinfo?.info_kind
  if (kind === 'bridge') return 'bridge'
  if (kind !== undefined && TUNNELS.has(kind)) return 'tunnel'
  return found === undefined || found.link_type === 'ether' ? 'ethernet' : 'other'
}

const ownRows = ({ ifname, address, addr_info }: Interface, kind: InterfaceKind): MapRow[] =>
  addr_info
    .filter(({ local, scope }) => local !== undefined && scope !== 'host')
    .map(({ local = '', prefixlen }) => ({
      kind: 'own',
      address: local,
      prefix_length: prefixlen,
      mac: address ?? null,
      mac_kind: classifyMac(address ?? null),
      state: null,
      interface: ifname,
      interface_kind: kind,
      is_gateway: false,
      is_router: false,
    }))

/** Entries of groups say nothing about a machine (RFC 1112, RFC 4291). */
const isMachine = ({ dst, state }: NeighbourEntry): boolean =>
  !state.includes('NOARP') && !/^(22[4-9]|23\d)\.|^ff|^255\./i.test(dst)

const neighbourRow = (
  { dst, dev, lladdr, state, router }: NeighbourEntry,
  hops: readonly Hop[],
  interfaceKind: InterfaceKind,
): MapRow => {
  const found = hops.filter(hop => hop.address === dst && hop.interface === dev)
  return {
    kind: 'neighbour',
    address: dst,
    prefix_length: null,
    mac: lladdr ?? null,
    mac_kind: classifyMac(lladdr ?? null),
    state: STATES.find(each => state[0]?.toLowerCase() === each) ?? null,
    interface: dev,
    interface_kind: interfaceKind,
    is_gateway: found.some(({ isDefault }) => isDefault),
    is_router: found.length > 0 || router === null,
  }
}

const gatewayRow = (hop: Hop, interfaceKind: InterfaceKind): MapRow => ({
  kind: 'gateway',
  address: hop.address,
  prefix_length: null,
  mac: null,
  mac_kind: null,
  state: null,
  interface: hop.interface,
  interface_kind: interfaceKind,
  is_gateway: hop.isDefault,
  is_router: true,
})
