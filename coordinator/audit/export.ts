import { guardCell, quoteCell } from '../base/csv-text.ts'
import { AUDIT_COLUMNS, type AuditRow } from '../store/audit-tables.ts'

type ExportFormat = 'csv' | 'jsonl'

export const EXPORT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
}

/**
 * Rows as text, one a line, all columns: with `prev` and `hash` anybody can check the chain. CSV as
 * RFC 4180 has it, with a header line on the first page.
 */
export const formatRows = (
  rows: readonly AuditRow[],
  format: ExportFormat,
  { isFirst }: { isFirst: boolean },
): string => {
  if (format === 'jsonl') return rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const lines = rows.map(row => AUDIT_COLUMNS.map(name => cell(row[name])).join(','))
  return [...(isFirst ? [AUDIT_COLUMNS.join(',')] : []), ...lines]
    .map(line => `${line}\r\n`)
    .join('')
}

const cell = (value: string | number | null): string => {
  if (value === null) return ''
  return typeof value === 'number' ? String(value) : quoteCell(guardCell(value))
}
