import { readFacts } from './entity-facts.ts'
import { formatCycloneDx } from './export-cyclonedx.ts'
import type { EntityView } from './registry-query.ts'

export const EXPORT_FORMATS = ['json', 'csv', 'jsonl', 'cyclonedx'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

export const EXPORT_TYPES: Record<ExportFormat, string> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
  cyclonedx: 'application/vnd.cyclonedx+json; version=1.6',
}

/** Entities as text; a page of CSV has its header line only when it is the first. */
export const exportEntities = (
  entities: readonly EntityView[],
  format: ExportFormat,
  { isFirst, at }: { isFirst: boolean; at: number },
): string => {
  if (format === 'json') return JSON.stringify({ entities })
  if (format === 'jsonl') return entities.map(entity => `${JSON.stringify(entity)}\n`).join('')
  if (format === 'cyclonedx') return formatCycloneDx(entities, at)
  const lines = entities.map(entity => columnsOf(entity).map(formatCell).join(','))
  return [...(isFirst ? [COLUMNS.join(',')] : []), ...lines].map(line => `${line}\r\n`).join('')
}

const COLUMNS = [
  'entity_id',
  'name',
  'device_type',
  'risk_level',
  'confidence',
  'is_present',
  'first_seen',
  'last_seen',
  'vendor',
  'model',
  'ip_addresses',
  'mac_addresses',
  'sources',
  'risk_reasons',
]

const columnsOf = (entity: EntityView): string[] => {
  const { vendor, model, ip_addresses = [], mac_addresses = [] } = readFacts(entity)
  return [
    entity.entity_id,
    entity.name ?? '',
    entity.device_type,
    entity.risk_level,
    String(entity.confidence),
    String(entity.is_present),
    entity.first_seen,
    entity.last_seen,
    vendor ?? '',
    model ?? '',
    ip_addresses.join(' '),
    mac_addresses.join(' '),
    [...new Set(entity.sources.map(({ module }) => module))].join(' '),
    entity.risk.reasons.map(({ reason }) => reason).join('; '),
  ]
}

/** A spreadsheet would run a cell that begins like a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r]/

const formatCell = (value: string): string => {
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
