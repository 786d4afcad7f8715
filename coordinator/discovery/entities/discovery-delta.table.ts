import * as z from 'zod'
import { growingWords, integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

export const DELTA_KINDS = [
  'appeared',
  'disappeared',
  'changed',
  'merged',
  'split',
  'erased',
] as const

/** Change that a delta reports, with the names of its answers. */
export const DeltaBody = z.object({
  /** Field that changed; null for other kinds. */
  field: z.string().nullable().default(null),
  before: z.unknown().default(null),
  after: z.unknown().default(null),
  /**
   * Flag of a shortened `before` or `after`: lists then have only the items that the other lacks.
   */
  is_truncated: z.literal(true).exactOptional(),
  /** The other entity of a merge or split. */
  other_id: z.string().nullable().default(null),
  /** Display name of the entity. */
  name: z.string().nullable().default(null),
})
export type DeltaBody = z.infer<typeof DeltaBody>

/** A change of the inventory; rows are only added, and deleted when they are old. */
export const discoveryDeltaTable = defineTable('discovery_deltas', {
  columns: {
    seq: integer(),
    at: time(),
    kind: growingWords(DELTA_KINDS),
    entity_id: text(),
    body_json: json(DeltaBody),
  },
  key: ['seq'],
  indexes: {
    discovery_deltas_entity_id: ['entity_id'],
    discovery_deltas_first: ['at', 'seq'],
    discovery_deltas_counts: ['kind', 'at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_deltas: TableOf<typeof discoveryDeltaTable>
  }
}
