import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import type { AuditRow } from './audit.table.ts'

/** Value of `prev` in the first row. */
export const GENESIS = '0'.repeat(64)

/** SHA-256 over the canonical JSON of all the row's other fields, `prev` with them. */
export const rowHash = ({ hash: _, ...row }: Omit<AuditRow, 'hash'> & { hash?: string }): string =>
  hash('sha256', canonicalJson(row), 'hex')

/** Returns the reason why a row cannot follow `prev` at position `seq`; undefined when it can. */
export const linkFault = (row: AuditRow, seq: number, prev: string): string | undefined => {
  if (row.seq !== seq) return `row ${seq} is missing`
  if (row.prev !== prev) return `row ${seq} does not continue the row before it`
  if (rowHash(row) !== row.hash) return `row ${seq} was changed`
  return undefined
}
