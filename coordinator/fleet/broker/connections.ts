import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { MAX_PACKET_BYTES } from '../../../shared/wire/topics.ts'
import { type CellCaller, NO_BOOT_ID } from '../enrolment/admission.ts'
import type { BusParts } from './bus.ts'
import { type GuardLimits, guardSocket } from './guard.ts'

/**
 * Limits far above the traffic of a daemon; a peer beyond them is slowed down, and a flood is cut
 * off.
 */
const GUARD: GuardLimits = {
  maxPacketBytes: MAX_PACKET_BYTES,
  bytes: { perSecond: 1024 * 1024, burst: 2 * 1024 * 1024 },
  packets: { perSecond: 300, burst: 1000 },
  maxWaitMs: 10_000,
}

/** A daemon has one; the old one may not be gone yet when it comes back. */
const MAX_PER_CELL = 4

type ConnectionParts = Pick<BusParts, 'onActivity' | 'onTakeover' | 'logger' | 'nowMs'>

/** The open control planes, by cell. */
export interface Connections {
  /** Puts the guard before a socket whose upgrade proved that it belongs to this cell. */
  admit(socket: Socket, cellId: string, caller?: CellCaller): Duplex
  /** True when the cell has come back on another connection while this one is not gone yet. */
  isOvertaken(connection: Duplex, cellId: string): boolean
  /** Closes every connection of one cell. */
  disconnect(cellId: string): void
  closeAll(): void
}

/** Connections of the plain port do not say which start of a daemon they belong to. */
const callerOf = ({ remoteAddress = '' }: Socket): CellCaller => ({
  bootId: NO_BOOT_ID,
  address: remoteAddress,
})

const isSameStart = (one: CellCaller, other: CellCaller): boolean =>
  one.bootId === other.bootId && one.bootId !== NO_BOOT_ID

export const createConnections = (parts: ConnectionParts): Connections => {
  const { logger, nowMs, onActivity, onTakeover } = parts
  const cells = new Map<string, Map<Duplex, CellCaller>>()

  const admit = (socket: Socket, cellId: string, caller = callerOf(socket)): Duplex => {
    const guarded = guardSocket(socket, {
      ...GUARD,
      nowMs,
      onActivity: () => onActivity(cellId),
      onViolation: violation => logger.warn({ cell: cellId, violation }, 'mqtt cut off'),
    })
    const own = cells.get(cellId) ?? new Map<Duplex, CellCaller>()
    const [before] = [...own.values()].slice(-1)
    cells.set(cellId, own.set(guarded, caller))
    guarded.once('close', () => {
      own.delete(guarded)
      if (own.size === 0 && cells.get(cellId) === own) cells.delete(cellId)
    })
    if (before !== undefined && !isSameStart(before, caller))
      onTakeover(cellId, { address: caller.address, before: before.address })
    const [oldest] = own.keys()
    if (own.size > MAX_PER_CELL) oldest?.destroy()
    return guarded
  }

  const isOvertaken = (connection: Duplex, cellId: string): boolean => {
    const [newest] = [...(cells.get(cellId)?.keys() ?? [])].slice(-1)
    return newest !== undefined && newest !== connection
  }

  const disconnect = (cellId: string): void => {
    for (const connection of [...(cells.get(cellId)?.keys() ?? [])]) connection.destroy()
  }

  return { admit, isOvertaken, disconnect, closeAll: () => [...cells.keys()].forEach(disconnect) }
}
