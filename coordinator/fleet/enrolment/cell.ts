import type { StoredCell } from './cell.table.ts'

/** Identity of an enrolled machine; says nothing about its presence. */
export type EnrolledCell = Omit<StoredCell, 'digest' | 'nextDigest'>

export const cellOf = ({ digest: _, nextDigest: __, ...cell }: StoredCell): EnrolledCell => ({
  ...cell,
  renewedAt: Math.max(cell.renewedAt, cell.enrolledAt),
})
