import * as z from 'zod'
import type { EntityDescription } from '../../../discovery/entities/describe-entity.ts'
import type { RISK_LEVELS } from '../../../discovery/entities/judge-risk.ts'
import type { EntityType } from '../../../discovery/entities/type-rules.ts'
import { flag, integer, json, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredKey } from './stored-sighting.ts'

/** A value of another source. An erasure of another entity leaves out strings that mention it. */
const Conflict = z.looseObject({
  value: z.unknown().default(null),
  source: z.string(),
  at: z.string(),
})

const Field = Conflict.extend({
  cell_id: z.string().nullable().default(null),
  confidence: z.number(),
  conflicts: z.array(Conflict),
})

const Guess = z.looseObject({
  type: z.custom<EntityType>(type => typeof type === 'string', 'expected a type'),
  confidence: z.number(),
  evidence: z.array(z.string()),
})

const Description: z.ZodType<EntityDescription> = z.looseObject({
  fields: z.record(z.string(), Field),
  keys: z.array(StoredKey),
  types: z.tuple([Guess], Guess),
  risk: z.looseObject({
    level: z.custom<(typeof RISK_LEVELS)[number]>(
      level => typeof level === 'string',
      'expected a level',
    ),
    points: z.number(),
    reasons: z.array(
      z.looseObject({ id: z.string(), points: z.number(), reason: z.string().default('') }),
    ),
  }),
  sources: z.array(
    z.looseObject({
      module: z.string(),
      cell_id: z.string().nullable().default(null),
      at: z.string(),
      ttl_s: z.number().nullable(),
    }),
  ),
})

/** A thing, as its traces describe it. */
export const discoveryEntityTable = defineTable('discovery_entities', {
  columns: {
    id: text(),
    type: text(),
    risk_level: text(),
    risk_points: integer(),
    /** Modules that saw it, each between blanks. */
    sources: text(),
    /** Flag of an entity whose risk includes the points of a new one. */
    is_new: withDefault(flag(), 1),
    /** Flag of presence; false once every scanner that saw it has missed it often enough. */
    is_present: flag(),
    /** Cell that found it, in whose share it counts; empty for the coordinator. */
    holder: withDefault(text(), ''),
    /** Order in which entities of a share are given up, lowest first: see `keepRankOf`. */
    keep_rank: withDefault(integer(), 0),
    first_at: time(),
    last_at: time(),
    description_json: json(Description),
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

export type StoredEntity = EntityOf<typeof discoveryEntityTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_entities: TableOf<typeof discoveryEntityTable>
  }
}
