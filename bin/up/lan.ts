import { hash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import * as tls from 'node:tls'
import { joinTokenText } from '../../shared/join-token.ts'
import { EXIT, LaunchError } from './launch-error.ts'
import type { Addresses } from './ready-file.ts'
import { issueToken, type LaunchState } from './state.ts'

/** Interfaces of containers and virtual machines, which no other machine reaches. */
const VIRTUAL = /^(docker|br-|veth|virbr|podman|cni|lxc|lxd)/

/**
 * The address of this machine for others on its network: of the first interface, IPv4 if there is
 * one. Throws LaunchError where there is none.
 */
export const findLanAddress = (
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): string => {
  const found = Object.entries(interfaces)
    .filter(([name]) => !VIRTUAL.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .filter(({ internal, address }) => !internal && !/^(fe80|169\.254\.)/.test(address))
  const best = found.find(({ family }) => family === 'IPv4') ?? found[0]
  if (best !== undefined) return best.address
  throw new LaunchError(
    EXIT.usage,
    '--lan: this machine has no address on a network; give it one, or name it with --address',
  )
}

/** Warning about an address that this machine lacks; undefined for one that it has. */
export const describeForeignAddress = (
  address: string,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): string | undefined => {
  const own = Object.values(interfaces).flatMap((found = []) => found.map(each => each.address))
  if (own.includes(address)) return undefined
  return `--address ${address} is not an address of this machine; other hosts reach shoal there only through a forwarder`
}

/** Flags of the coordinator: any address other than loopback is served with TLS. */
export const lanArgs = (address: string, port: string): string[] => [
  ...['--http-host', isIPv6(address) ? '::' : '0.0.0.0'],
  ...['--public-base-url', lanUrl(address, port)],
]

export const lanUrl = (address: string, port: string): string =>
  `https://${isIPv6(address) ? `[${address}]` : address}:${port}`

/** Makes the launcher trust the coordinator's own authority too. */
export const trustCoordinator = (caFile: string): void => {
  const authority = readFileSync(caFile, 'utf8')
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), authority])
}

const LAN_TOKEN = { uses: 1, ttlMinutes: 60 }

/** The command that makes another machine a cell. */
export const lanJoinLine = async (
  state: Pick<LaunchState, 'place'>,
  { baseUrl, caFile = '' }: Addresses,
): Promise<string> => {
  const secret = await issueToken(state, LAN_TOKEN)
  const { raw } = new X509Certificate(readFileSync(caFile))
  const token = joinTokenText({ secret, fingerprint: hash('sha256', raw, 'base64url') })
  return `shoald join ${baseUrl} --token ${token}`
}
