import * as z from 'zod'
import { flag, integer, json, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A thing, as its traces describe it. */
export const discoveryEntityTable = defineTable('discovery_entities', {
  columns: {
    id: text(),
    type: text(),
    risk_level: text(),
    risk_points: integer(),
    /** Modules that saw it, each between blanks. */
    sources: text(),
    /** 1 while its risk counts that it is new. */
    is_new: withDefault(flag(), 1),
    /** 0 once every scanner that saw it has missed it often enough. */
    is_present: flag(),
    /** Cell that found it, in whose share it counts; empty for the coordinator. */
    holder: withDefault(text(), ''),
    /** Order in which entities of a share are given up, lowest first: see `keepRankOf`. */
    keep_rank: withDefault(integer(), 0),
    first_at: time(),
    last_at: time(),
    description_json: json(z.unknown()),
  },
  key: ['id'],
  indexes: {
    discovery_entities_first_at: ['first_at'],
    discovery_entities_holder: ['holder', 'keep_rank', 'last_at'],
    discovery_entities_newest: ['last_at desc', 'id'],
    discovery_entities_newest_type: ['type', 'last_at desc', 'id'],
    discovery_entities_newest_risk_level: ['risk_level', 'last_at desc', 'id'],
    discovery_entities_newest_type_risk_level: ['type', 'risk_level', 'last_at desc', 'id'],
    discovery_entities_newest_is_present: ['is_present', 'last_at desc', 'id'],
    discovery_entities_new: ['is_new', 'first_at'],
  },
})

export type DiscoveryEntityRow = RowOf<typeof discoveryEntityTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_entities: TableOf<typeof discoveryEntityTable>
  }
}
