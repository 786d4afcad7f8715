import { listLinks } from '../../../shared/mdns/links.ts'
import { isLoopbackAddress } from '../../net/address-keys.ts'
import { readAttachedLinks } from '../../net/attached-links.ts'
import { isLinkInScope } from '../../net/link-scope.ts'
import { listTargets } from '../../net/list-targets.ts'
import { readNeighbours, readNeighbours6 } from '../../net/neighbour-table.ts'
import type { PortResult } from '../../net/port-scan.ts'
import { HOST_PORTS } from '../../net/port-sets.ts'
import { runTogether } from '../../net/run-together.ts'
import { scanNetworks } from '../../net/scan-networks.ts'
import type { ScanContext, ScanRun } from '../../scan-run.ts'
import { isForbiddenAddress, isInScope, normaliseTarget } from '../../scope.ts'
import { nameOpenPorts } from './hosts/every-port.ts'
import type { NamedPort } from './hosts/identify-port.ts'

interface HostRow {
  address: string
  mac: string | null
  is_own: boolean
  ports: NamedPort[]
  answers_every_port: boolean
}

/** Hosts whose ports are identified at once. */
const CONCURRENCY = 16

/**
 * Sweeps the scope and what the neighbour tables have of it, scans common ports, and identifies the
 * open ones. A host that answers on the link alone, such as one that drops packets, is listed too.
 */
const run: ScanRun<Record<string, never>, HostRow> = async function* (_input, context) {
  warnAboutLinks(context)
  const { addresses, scope, isCut } = await listTargets(undefined, context.scope)
  if (isCut)
    context.warn('partial_result', `only ${addresses.length} addresses of the scope are scanned`)
  const known = [...(await readMacs()).keys()].filter(address => isInScope(scope, address))
  const targets = [...new Set([...addresses, ...known])]
  const open = new Map<string, number[]>()
  for await (const result of scanNetworks(targets, HOST_PORTS, { ...context, scope }))
    note(open, result)
  const macs = await readMacs()
  const { isOwn } = readAttachedLinks()
  const found = targets.filter(address => open.has(address) || macs.has(address))
  yield* runTogether(found, CONCURRENCY, context.signal, async address => {
    const limits = { ...context, scope }
    const { ports, answersEveryPort } = await nameOpenPorts(
      address,
      open.get(address) ?? [],
      limits,
    )
    if (answersEveryPort)
      context.warn('partial_result', `${address} answers on every port; silent ones are omitted`)
    return {
      address,
      mac: macs.get(address) ?? null,
      is_own: isLoopbackAddress(address) || isOwn(address),
      ports,
      answers_every_port: answersEveryPort,
    }
  })
}

export default run

/** A port that refuses shows a host as well as an open one. */
const note = (open: Map<string, number[]>, { address, port, state }: PortResult): void => {
  if (state !== 'open' && state !== 'closed') return
  const ports = open.get(address) ?? []
  open.set(address, state === 'open' ? [...ports, port] : ports)
}

/** Link-layer addresses of both families by address. */
const readMacs = async (): Promise<ReadonlyMap<string, string>> => {
  const tables = await Promise.all([readNeighbours(), readNeighbours6()])
  return new Map(tables.flatMap(table => [...(table ?? [])]))
}

/** Names the subnets of this cell that the scope leaves out, with the command that adds them. */
const warnAboutLinks = ({ scope, warn }: ScanContext): void => {
  const left = listLinks().filter(link => !link.isLoopback && !isLinkInScope(scope, link))
  // no entry can add the bridge of containers
  for (const { name, cidr, address } of left)
    if (!isForbiddenAddress(scope, address))
      warn(
        'out_of_scope',
        `the subnet of ${name} is not in the scope: shoal discover scope add ${normaliseTarget(cidr)}`,
      )
}
