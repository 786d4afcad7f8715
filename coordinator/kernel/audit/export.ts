import { formatCsvRow, guardFormula } from '../base/format-csv.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit.table.ts'

type ExportFormat = 'csv' | 'jsonl'

export const EXPORT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
}

/**
 * Formats rows as text, one per line, with all columns: `prev` and `hash` allow anybody to check the
 * chain. CSV (RFC 4180) has a header line on the first page.
 */
export const formatRows = (
  rows: readonly AuditRow[],
  format: ExportFormat,
  { isFirst }: { isFirst: boolean },
): string => {
  if (format === 'jsonl') return rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const lines = rows.map(row => formatCsvRow(AUDIT_COLUMNS.map(name => formatCell(row[name]))))
  return [...(isFirst ? [formatCsvRow(AUDIT_COLUMNS)] : []), ...lines].join('')
}

const formatCell = (value: string | number | null): string => {
  if (value === null) return ''
  return typeof value === 'number' ? String(value) : guardFormula(value)
}
