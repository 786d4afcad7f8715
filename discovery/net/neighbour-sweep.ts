import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { wait } from '../../shared/wait.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { requireInScope } from '../scope.ts'
import { readNeighbours } from './neighbour-table.ts'

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
const POLL_MS = 20
/** Time without a new answer after which the others count as absent for now. */
const QUIET_MS = 120

/**
 * Finds the hosts on the link: an empty datagram makes the kernel resolve the address, without
 * privileges, and the ARP table shows who answered. Undefined where there is no such table. A host
 * that answers late is in the table later.
 */
export const sweepNeighbours = async (
  addresses: readonly string[],
  options: SweepOptions,
): Promise<ReadonlySet<string> | undefined> => {
  if ((await readNeighbours()) === undefined) return undefined
  const found = new Set<string>()
  for (let at = 0; at * BATCH < addresses.length && !options.signal.aborted; at++) {
    if (at >= FAST_BATCHES) await wait(PACE_MS, options.signal)
    const batch = addresses.slice(at * BATCH, (at + 1) * BATCH)
    await pokeAll(batch, options)
    await collect(batch, found, options.signal)
  }
  return found
}

const pokeAll = async (addresses: readonly string[], { scope }: SweepOptions): Promise<void> => {
  const socket = createSocket('udp4')
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
  batch: readonly string[],
  found: Set<string>,
  signal: AbortSignal,
): Promise<void> => {
  const end = found.size + batch.length
  for (let quiet = 0; quiet <= QUIET_MS && !signal.aborted; quiet += POLL_MS) {
    const before = found.size
    const table = await readNeighbours()
    for (const address of batch) if (table?.has(address)) found.add(address)
    if (found.size === end) return
    if (found.size > before) quiet = 0
    await wait(POLL_MS, signal)
  }
}
