import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { wait } from '../../shared/wait.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { requireInScope } from '../scope.ts'
import { readNeighbours, readNeighbours6 } from './neighbour-table.ts'

interface SweepOptions {
  scope: ScanScope
  signal: AbortSignal
}

/** Discard protocol (RFC 863): nothing may answer, and nothing has to. */
const DISCARD_PORT = 9
/** Addresses that are resolved at once. */
const BATCH = 256
/**
 * Batches before the pace is slowed: the kernel keeps 1024 entries by default (arp(7), gc_thresh3),
 * and those without an answer for three seconds.
 */
const FAST_BATCHES = 2
const PACE_MS = 3000
/** Time without a new answer after which the others count as absent for now. */
const QUIET_MS = 120

/** Both families of addresses: how the table is read, and how often, as `ip` is a program. */
const FAMILIES = {
  udp4: { read: readNeighbours, pollMs: 20 },
  udp6: { read: readNeighbours6, pollMs: 60 },
} as const

/** Hosts on the link, by what they answered so far. */
interface SweptLink {
  found: ReadonlySet<string>
  /** Addresses without an answer; a family whose table cannot be read has none. */
  absent: ReadonlySet<string>
}

/**
 * Finds the hosts on the link: an empty datagram makes the kernel resolve the address, without
 * privileges, and its neighbour table shows who answered. A host that answers late is in the table
 * later.
 */
export const sweepLink = async (
  addresses: readonly string[],
  options: SweepOptions,
): Promise<SweptLink> => {
  const swept = { found: new Set<string>(), absent: new Set<string>() }
  for (const family of ['udp4', 'udp6'] as const) {
    const some = addresses.filter(each => familyOf(each) === family)
    const found = some.length === 0 ? undefined : await sweepFamily(family, some, options)
    if (found === undefined) continue
    for (const address of some) swept[found.has(address) ? 'found' : 'absent'].add(address)
  }
  return swept
}

/** Hosts of a sweep that were absent and have answered by now, such as sleeping ones. */
export const listLate = async ({ absent }: SweptLink): Promise<string[]> => {
  const late: string[] = []
  for (const family of ['udp4', 'udp6'] as const) {
    const some = [...absent].filter(each => familyOf(each) === family)
    const table = some.length === 0 ? undefined : await FAMILIES[family].read()
    late.push(...some.filter(address => table?.has(address)))
  }
  return late
}

type Family = keyof typeof FAMILIES

const familyOf = (address: string): Family => (address.includes(':') ? 'udp6' : 'udp4')

const sweepFamily = async (
  family: Family,
  addresses: readonly string[],
  options: SweepOptions,
): Promise<ReadonlySet<string> | undefined> => {
  if ((await FAMILIES[family].read()) === undefined) return undefined
  const found = new Set<string>()
  for (let at = 0; at * BATCH < addresses.length && !options.signal.aborted; at++) {
    if (at >= FAST_BATCHES) await wait(PACE_MS, options.signal)
    const batch = addresses.slice(at * BATCH, (at + 1) * BATCH)
    await pokeAll(family, batch, options)
    await collect(family, batch, found, options.signal)
  }
  return found
}

const pokeAll = async (
  family: Family,
  addresses: readonly string[],
  { scope }: SweepOptions,
): Promise<void> => {
  const socket = createSocket(family)
  // refusals of single hosts
  socket.on('error', () => {})
  socket.bind(0)
  await once(socket, 'listening')
  try {
    await Promise.all(
      addresses.map(address => {
        requireInScope(scope, address)
        return new Promise<void>(resolve =>
          socket.send(Buffer.alloc(0), DISCARD_PORT, address, () => resolve()),
        )
      }),
    )
  } finally {
    socket.close()
  }
}

const collect = async (
  family: Family,
  batch: readonly string[],
  found: Set<string>,
  signal: AbortSignal,
): Promise<void> => {
  const { read, pollMs } = FAMILIES[family]
  const end = found.size + batch.length
  for (let quiet = 0; quiet <= QUIET_MS && !signal.aborted; quiet += pollMs) {
    const before = found.size
    const table = await read()
    for (const address of batch) if (table?.has(address)) found.add(address)
    if (found.size === end) return
    if (found.size > before) quiet = 0
    await wait(pollMs, signal)
  }
}
