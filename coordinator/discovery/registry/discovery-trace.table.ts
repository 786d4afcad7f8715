import * as z from 'zod'
import { flag, json, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Sightings with the same keys at one site. */
export const discoveryTraceTable = defineTable('discovery_traces', {
  columns: {
    id: text(),
    entity_id: text(),
    /** Id of the entity that exists while this is its oldest trace. */
    founded_id: text(),
    site: text(),
    keys_json: json(z.unknown()),
    spans_json: json(z.unknown()),
    /** Names by which its host calls itself. */
    hostnames_json: withDefault(json(z.unknown()), '[]'),
    /** Newest facts per module and cell. */
    claims_json: json(z.unknown()),
    born_at: time(),
    last_at: time(),
    /** Cell that saw it first; empty for the coordinator, and for rows of an older version. */
    born_by: withDefault(text(), ''),
    /** 1 for the address of a virtual router. */
    is_shared: flag(),
  },
  key: ['id'],
  indexes: {
    discovery_traces_entity_id: ['entity_id'],
    discovery_traces_last_at: ['last_at'],
  },
})

export type DiscoveryTraceRow = RowOf<typeof discoveryTraceTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_traces: TableOf<typeof discoveryTraceTable>
  }
}
