import { stringify } from 'yaml'
import type * as z from 'zod'
import { formatCsvRow } from '../../../kernel/base/format-csv.ts'
import { formatCell } from './csv-cell.ts'

export const EXPORT_FORMATS = ['csv', 'yaml', 'jsonl'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** Formats records as text that an import reads back. Pages can be joined: only the first has a header. */
export const formatRecords = (
  records: readonly Record<string, unknown>[],
  format: ExportFormat,
  { schema, isFirst }: { schema: z.ZodObject; isFirst: boolean },
): string => {
  if (format === 'yaml') return records.length === 0 ? '' : stringify(records, { lineWidth: 0 })
  if (format === 'jsonl') return records.map(record => `${JSON.stringify(record)}\n`).join('')
  const columns = Object.keys(schema.shape)
  const rows = records.map(record => formatCsvRow(columns.map(name => formatCell(record[name]))))
  return [...(isFirst ? [formatCsvRow(columns)] : []), ...rows].join('')
}
