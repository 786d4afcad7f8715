import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { MAX_OWN_NETWORKS } from '../../shared/wire/scan-scope.ts'

type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>

/** Interfaces of container engines, clusters and local virtual machines, and their pairs. */
const BRIDGE = /^(docker|br-|veth|cni|podman|virbr|lxcbr|lxdbr|flannel|cali|cilium|kube-|nodelocal)/

/** Subnets of the interfaces of this machine, split by what its interfaces are for. */
export interface OwnNetworks {
  /** Subnets that an operator may want to scan: proposals for the scope, and no part of it. */
  proposals: string[]
  /** Subnets of container bridges, which are never scanned. */
  excluded: string[]
}

export const readOwnNetworks = (interfaces: () => Interfaces = networkInterfaces): OwnNetworks => {
  const proposals = new Set<string>()
  const excluded = new Set<string>()
  for (const [name, addresses = []] of Object.entries(interfaces()))
    for (const { cidr, internal } of addresses) {
      const network = cidr === null ? undefined : toNetwork(cidr)
      if (network === undefined || internal) continue
      if (BRIDGE.test(name)) excluded.add(network)
      else proposals.add(network)
    }
  for (const network of excluded) proposals.delete(network)
  return {
    proposals: [...proposals].slice(0, MAX_OWN_NETWORKS),
    excluded: [...excluded],
  }
}

/** Network of an interface address; undefined for link-local ones, which every link has. */
const toNetwork = (cidr: string): string | undefined => {
  const [address, bits] = ipaddr.parseCIDR(cidr)
  if (address.range() === 'linkLocal') return undefined
  const base =
    address.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(cidr)
      : ipaddr.IPv6.networkAddressFromCIDR(cidr)
  return `${base}/${bits}`
}
