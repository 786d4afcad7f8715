import { formatCsvRow, guardFormula } from '../../kernel/base/format-csv.ts'
import { readFacts } from './entity-facts.ts'
import type { EntityView } from './entity-query.ts'

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

const listCells = (entity: EntityView): string[] => {
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

/** Header line of the table. */
export const formatCsvHead = (): string => formatCsvRow(COLUMNS)

/** One line of the table. */
export const formatEntityRow = (entity: EntityView): string =>
  formatCsvRow(listCells(entity).map(guardFormula))
