import type { Runtime } from '../../../shared/runtime.ts'
import type { EntityView } from './entity-query.ts'
import { formatCsvHead, formatEntityRow } from './export-csv.ts'
import { formatComponent, formatInventoryHead, INVENTORY_END } from './export-cyclonedx.ts'

export const EXPORT_FORMATS = ['json', 'csv', 'jsonl', 'cyclonedx'] as const
export type ExportFormatName = (typeof EXPORT_FORMATS)[number]

/** Format of an export: how its entities are written, and the text before and after them. */
interface ExportFormat {
  mediaType: string
  /** @param at time of the export, Unix milliseconds */
  begin: (at: number, ids: Runtime['ids']) => string
  format: (entity: EntityView) => string
  between: string
  end: string
}

export const EXPORTS: Readonly<Record<ExportFormatName, ExportFormat>> = {
  json: {
    mediaType: 'application/json',
    begin: () => '{"entities":[',
    format: entity => JSON.stringify(entity),
    between: ',\n',
    end: ']}\n',
  },
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    begin: formatCsvHead,
    format: formatEntityRow,
    between: '',
    end: '',
  },
  jsonl: {
    mediaType: 'application/jsonl; charset=utf-8',
    begin: () => '',
    format: entity => `${JSON.stringify(entity)}\n`,
    between: '',
    end: '',
  },
  cyclonedx: {
    mediaType: 'application/vnd.cyclonedx+json; version=1.6',
    begin: formatInventoryHead,
    format: formatComponent,
    between: ',\n',
    end: INVENTORY_END,
  },
}
