import * as z from 'zod'
import { RISK_LEVELS } from '../../../../../discovery/entities/judge-risk.ts'
import { ENTITY_TYPES } from '../../../../../discovery/entities/type-rules.ts'
import { createChoice } from '../../../../../discovery/fields/choice.ts'
import { defineView, own } from '../../../../kernel/declaration/define-view.ts'
import type { Delta } from '../../deltas.ts'
import { type DeltaBody, discoveryDeltaTable } from '../../discovery-delta.table.ts'

export const EntityId = z.string().max(64).describe('Id of an entity: `ent_…`.')

/** A key that should identify one thing and that several carry. */
export const KeyAlarm = z.object({
  key: z.object({ kind: z.string(), value: z.string() }),
  state: z
    .enum(['contradicted', 'quarantined', 'shared'])
    .describe(
      'contradicted: its carriers cannot be one thing; quarantined: two hosts of a site show it at once, so it joins neither; shared: the same, and the hosts agree in their name.',
    ),
  entity_ids: z.array(z.string()),
  since: z.iso.datetime(),
})

/** A thing that discovery found. */
export const EntityView = z.object({
  entity_id: z.string(),
  name: z.string().nullable(),
  device_type: z.string(),
  risk_level: z.string(),
  confidence: z.number().describe('Probability that it is there now, 0 to 1.'),
  is_present: z.boolean().describe('False once every scanner that saw it has missed it.'),
  first_seen: z.iso.datetime(),
  last_seen: z.iso.datetime(),
  types: z
    .array(z.object({ type: z.string(), confidence: z.number(), evidence: z.array(z.string()) }))
    .describe('The two likeliest types, best first.'),
  risk: z.object({
    level: z.string(),
    points: z.number(),
    reasons: z.array(z.object({ id: z.string(), points: z.number(), reason: z.string() })),
  }),
  keys: z.array(z.object({ kind: z.string(), value: z.string() })),
  key_alarms: z.array(KeyAlarm).describe('Keys of the entity that others carry too.'),
  sources: z.array(
    z.object({
      module: z.string(),
      cell_id: z.string().nullable(),
      at: z.iso.datetime(),
      ttl_s: z.number().nullable(),
    }),
  ),
  fields: z
    .record(z.string(), z.any())
    .describe('Values by name, each with its source, time, confidence and conflicting values.'),
})

/** Filters of a list of entities. */
export const ENTITY_FILTER = {
  source: z.string().max(64).exactOptional().describe('Module that saw it: `mdns-scan`.'),
  device_type: z
    .exactOptional(createChoice(ENTITY_TYPES))
    .describe(`Likeliest type: ${ENTITY_TYPES.join(', ')}.`),
  risk_level: z
    .exactOptional(createChoice(RISK_LEVELS))
    .describe(`Level of risk: ${RISK_LEVELS.join(', ')}.`),
}

const deltaView = defineView(discoveryDeltaTable, {
  seq: true,
  at: true,
  kind: true,
  entity_id: true,
  name: own(z.string().nullable(), ({ name }: DeltaBody) => name),
  field: own(z.string().nullable(), ({ field }: DeltaBody) => field),
  before: own(z.any(), ({ before }: DeltaBody) => before),
  after: own(z.any(), ({ after }: DeltaBody) => after),
  is_truncated: own(
    z
      .boolean()
      .describe('True when a value was too long; lists then have only items that the other lacks.'),
    ({ is_truncated }: DeltaBody): boolean => is_truncated ?? false,
  ),
  other_id: own(
    z.string().nullable().describe('The other entity of a merge or split.'),
    ({ other_id }: DeltaBody) => other_id,
  ),
})

export const DeltaView = deltaView.schema

export const deltaViewOf = (delta: Delta): z.input<typeof DeltaView> =>
  deltaView.of({ ...delta, entityId: delta.entity_id })
