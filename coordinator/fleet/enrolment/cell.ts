import type { CellRow } from './cell.table.ts'

/** Identity of an enrolled machine; says nothing about its presence. */
export interface EnrolledCell {
  id: string
  name: string
  /** Tags of its join token. */
  tags: string[]
  tokenId: string
  enrolledAt: number
  revokedAt?: number
  /** Set while connections as this cell are refused. */
  quarantinedAt?: number
  /** Unix time at which its credential was created, milliseconds. */
  renewedAt: number
  /** Ed25519 key, base64url; absent for a cell that enrolled without one. */
  publicKey?: string
  /** Highest boot epoch the cell has shown. */
  epoch: number
}

export const cellOf = (row: CellRow): EnrolledCell => ({
  id: row.id,
  name: row.name,
  tags: JSON.parse(row.tags_json),
  tokenId: row.token_id,
  enrolledAt: row.enrolled_at,
  renewedAt: Math.max(row.renewed_at, row.enrolled_at),
  epoch: row.epoch,
  ...(row.public_key === null ? {} : { publicKey: row.public_key }),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
  ...(row.quarantined_at === null ? {} : { quarantinedAt: row.quarantined_at }),
})
