import * as z from 'zod'
import type { Trace } from '../../../discovery/entities/trace.ts'
import type { SightingFacts } from '../../../discovery/sighting.ts'
import { json, oneOf, text, time } from '../../kernel/store/columns.ts'
import {
  defineTable,
  type EntityOf,
  type RowOf,
  type TableOf,
} from '../../kernel/store/define-table.ts'
import { StoredFacts } from './stored-sighting.ts'

/** Traces of a decision about identity; those of `apart` have another side. */
const PinnedTraces = z.looseObject({
  traces: z.array(z.string()),
  others: z.array(z.string()).optional(),
})

/** A decision of an operator: about identity, or about values of one entity. */
export const discoveryPinTable = defineTable('discovery_pins', {
  columns: {
    id: text(),
    kind: oneOf(['together', 'apart', 'values']),
    /** Entity that it was made for. */
    entity_id: text(),
    body_json: json(z.union([PinnedTraces, StoredFacts])),
    actor: text(),
    at: time(),
  },
  key: ['id'],
})

export type StoredPin = EntityOf<typeof discoveryPinTable>

type PinRow = RowOf<typeof discoveryPinTable>

/** True when a decision that cannot be read may be about a trace, as far as its row tells. */
export const mayConcern = (
  row: Pick<PinRow, 'entity_id' | 'body_json'>,
  { id, entityId, foundedId }: Pick<Trace, 'id' | 'entityId' | 'foundedId'>,
): boolean => [entityId, foundedId].includes(row.entity_id) || `${row.body_json}`.includes(id)

/** Ids of the traces that a decision that cannot be read names, as far as its row tells. */
export const findNamedTraces = (row: Pick<PinRow, 'entity_id' | 'body_json'>): string[] =>
  `${row.entity_id} ${row.body_json}`.match(/[0-9a-f]{24}/g) ?? []

/** Traces on both sides of a decision; none for one about values. */
export const pinnedTraces = ({ body }: StoredPin): { traces: string[]; others: string[] } =>
  'traces' in body ? { traces: body.traces, others: body.others ?? [] } : { traces: [], others: [] }

/** Values that a decision sets; none for one about identity. */
export const pinnedValues = ({ body }: StoredPin): SightingFacts => ('traces' in body ? {} : body)

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_pins: TableOf<typeof discoveryPinTable>
  }
}
