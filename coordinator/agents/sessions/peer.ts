import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { operatorPeerTable, type Peer } from './operator-peer.table.ts'

/** State of the handshake of two peers: `none`, `half` (one has named the other) or `mutual`. */
export type Handshake = 'none' | 'half' | 'mutual'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Holders of roles at this time, by role. */
export const readHolders = async (db: Reader, tenantId: string, at: number): Promise<Peer[]> => {
  const rows = await db
    .selectFrom('operator_peers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', at)
    .orderBy('role')
    .execute()
  return rows.map(operatorPeerTable.read)
}

/** Throws `not_found`, also for a peer of another tenant. */
export const readPeer = async (db: Reader, id: string, tenantId: string): Promise<Peer> => {
  const row = await db
    .selectFrom('operator_peers')
    .selectAll()
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
  if (row === undefined) throw createUnknownError('peer session', id)
  return operatorPeerTable.read(row)
}

export const handshakeOf = async (db: Reader, id: string, other: string): Promise<Handshake> => {
  const rows = await db
    .selectFrom('peer_handshakes')
    .select('peer_id')
    .where('peer_id', 'in', [id, other])
    .where('other_id', 'in', [id, other])
    .execute()
  if (rows.length === 0) return 'none'
  return rows.length === 2 ? 'mutual' : 'half'
}

/** Throws `conflict` for a claim that has ended or was not renewed in time. */
export const requireHolding = ({ id, role, fence, endedAt, expiresAt }: Peer, at: number): void => {
  if (endedAt === undefined && expiresAt > at) return
  const end = new Date(endedAt ?? expiresAt).toISOString()
  const how = endedAt === undefined ? 'ran out' : 'ended'
  throw new ShoalError(
    'conflict',
    `peer session ${id} (${role}, fence ${fence}) ${how} at ${end}; claim the role again`,
  )
}
