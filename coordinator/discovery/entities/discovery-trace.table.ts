import * as z from 'zod'
import type { FactClaim } from '../../../discovery/entities/claim.ts'
import { flag, json, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredFacts, StoredKey } from './stored-sighting.ts'

/** Claim as it is stored; loose, so that an erasure finds fields that a later version has added. */
const StoredClaim: z.ZodType<FactClaim> = z.looseObject({
  module: z.string(),
  cellId: z.string().optional(),
  at: z.number(),
  ttl_s: z.number().optional(),
  facts: StoredFacts,
})

/** Sightings with the same keys at one site. */
export const discoveryTraceTable = defineTable('discovery_traces', {
  columns: {
    id: text(),
    entity_id: text(),
    /** Id of the entity that exists while this is its oldest trace. */
    founded_id: text(),
    site: text(),
    keys_json: json(z.array(StoredKey).readonly()),
    spans_json: json(z.array(z.tuple([z.number(), z.number()]).readonly()).readonly()),
    /** Names by which its host calls itself. */
    hostnames_json: withDefault(json(z.array(z.string()).readonly()), '[]'),
    /** Newest facts per module and cell. */
    claims_json: json(z.array(StoredClaim).readonly()),
    born_at: time(),
    last_at: time(),
    /** Cell that saw it first; empty for the coordinator, and for rows of an older version. */
    born_by: withDefault(text(), ''),
    /** Flag of the address of a virtual router. */
    is_shared: flag(),
  },
  key: ['id'],
  indexes: {
    discovery_traces_entity_id: ['entity_id'],
    discovery_traces_last_at: ['last_at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_traces: TableOf<typeof discoveryTraceTable>
  }
}
