import { type CellRow, cellTable } from './cell.table.ts'

/** Identity of an enrolled machine; says nothing about its presence. */
export interface EnrolledCell {
  id: string
  name: string
  /** Tags of its join token. */
  tags: string[]
  tokenId: string
  enrolledAt: number
  revokedAt?: number
  /** Time since which connections as this cell are refused. */
  quarantinedAt?: number
  /** Unix time at which its credential was created, milliseconds. */
  renewedAt: number
  /** Ed25519 key, base64url; absent for a cell that enrolled without one. */
  publicKey?: string
  /** Highest boot epoch the cell has shown. */
  epoch: number
}

export const cellOf = (row: CellRow): EnrolledCell => {
  const { digest: _, nextDigest: __, ...stored } = cellTable.read(row)
  const { publicKey, revokedAt, quarantinedAt, ...cell } = stored
  return {
    ...cell,
    renewedAt: Math.max(cell.renewedAt, cell.enrolledAt),
    ...(publicKey !== undefined && { publicKey }),
    ...(revokedAt !== undefined && { revokedAt }),
    ...(quarantinedAt !== undefined && { quarantinedAt }),
  }
}
