import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { OperatorPeerRow } from './operator-peer.table.ts'

/** Holder of an operator role for a limited time. Times are Unix milliseconds. */
export interface Peer {
  /** Identifies this claim; a claim after it has ended gets another id. */
  id: string
  role: string
  personId: string
  keyId: string
  agentId: string
  terminalLabel: string | undefined
  /** Number that grows with every new holder of the role, which identifies older holders. */
  fence: number
  claimedAt: number
  expiresAt: number
  endedAt: number | undefined
}

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
  return rows.map(peerOf)
}

/** Throws `not_found`, also for a peer of another tenant. */
export const readPeer = async (db: Reader, id: string, tenantId: string): Promise<Peer> => {
  const row = await db
    .selectFrom('operator_peers')
    .selectAll()
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
  if (row === undefined) throw new ShoalError('not_found', `no peer session ${id}`)
  return peerOf(row)
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
    `peer session ${id} (${role}, fence ${fence}) ${how} at ${end}; claim the role anew`,
  )
}

const peerOf = (row: OperatorPeerRow): Peer => ({
  id: row.id,
  role: row.role,
  personId: row.person_id,
  keyId: row.key_id,
  agentId: row.agent_id,
  terminalLabel: row.terminal_label ?? undefined,
  fence: row.fence,
  claimedAt: row.claimed_at,
  expiresAt: row.expires_at,
  endedAt: row.ended_at ?? undefined,
})
