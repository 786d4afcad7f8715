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
/** The kernel keeps 1024 entries by default (arp(7), gc_thresh3); a batch leaves room for others. */
const BATCH = 256
const POLL_MS = 40
const BATCH_WAIT_MS = 480

/**
 * Finds the hosts on the link: an empty datagram makes the kernel resolve the address, without
 * privileges, and the ARP table shows who answered. Undefined where there is no such table.
 */
export const sweepNeighbours = async (
  addresses: readonly string[],
  options: SweepOptions,
): Promise<ReadonlySet<string> | undefined> => {
  if ((await readNeighbours()) === undefined) return undefined
  const found = new Set<string>()
  for (let from = 0; from < addresses.length && !options.signal.aborted; from += BATCH) {
    const batch = addresses.slice(from, from + BATCH)
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
  const sizeBefore = found.size
  for (let waited = 0; waited <= BATCH_WAIT_MS && !signal.aborted; waited += POLL_MS) {
    const table = await readNeighbours()
    for (const address of batch) if (table?.has(address)) found.add(address)
    if (found.size - sizeBefore === batch.length) return
    await wait(POLL_MS, signal)
  }
}
