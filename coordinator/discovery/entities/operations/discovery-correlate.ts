import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { RUN_DISCOVERY } from '../../../kernel/declaration/to-load.ts'
import type { EntityView } from '../entity-query.ts'
import type { EntityViews } from '../open-entities.ts'
import { KeyAlarm } from './discovery/entity-view.ts'

/** Entities that are compared: those with the newest sightings. */
const MOST = 500
const MAX_SHOWN = 200

export default defineSkill({
  id: 'discovery-correlate',
  group: 'discovery',
  name: 'Discovery correlation',
  description:
    'Show which entities several modules agree on, where values or keys conflict, and which may be one thing.',
  tags: ['discovery', 'inventory'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    data_state: DataState,
    compared: z.int().describe('Entities compared: the 500 with the newest sightings.'),
    confirmed: z
      .array(
        z.object({
          entity_id: z.string(),
          name: z.string().nullable(),
          sources: z.array(z.string()),
        }),
      )
      .describe('Entities that two modules or more saw.'),
    conflicts: z
      .array(z.object({ entity_id: z.string(), field: z.string(), values: z.array(z.any()) }))
      .describe(
        'Fields for which sources have different values; the first value is shown elsewhere.',
      ),
    key_alarms: z
      .array(KeyAlarm)
      .describe('Keys that several entities carry, the newest alarms first.'),
    candidates: z
      .array(z.object({ name: z.string(), entity_ids: z.array(z.string()) }))
      .describe(
        'Entities with one name and no evidence that joins them; an operator may merge them.',
      ),
  }),
  toLoad: RUN_DISCOVERY,
  run: async (_input, { entityQuery }: EntityViews) => {
    const { entities } = await entityQuery.page({ limit: MOST })
    return {
      data_state: dataState(entities.length),
      compared: entities.length,
      confirmed: listConfirmed(entities).slice(0, MAX_SHOWN),
      conflicts: entities.flatMap(listConflicts).slice(0, MAX_SHOWN),
      key_alarms: await entityQuery.listKeyAlarms(MAX_SHOWN),
      candidates: listCandidates(entities).slice(0, MAX_SHOWN),
    }
  },
})

const listConfirmed = (entities: readonly EntityView[]) =>
  entities
    .map(({ entity_id, name, sources }) => ({
      entity_id,
      name,
      sources: [...new Set(sources.map(({ module }) => module))],
    }))
    .filter(({ sources }) => sources.length > 1)

const listConflicts = ({ entity_id, fields }: EntityView) =>
  Object.entries(fields).flatMap(([field, known]) => {
    const { value, conflicts } = known as { value: unknown; conflicts: { value: unknown }[] }
    if (conflicts.length === 0) return []
    return [{ entity_id, field, values: [value, ...conflicts.map(each => each.value)] }]
  })

const listCandidates = (entities: readonly EntityView[]) => {
  const named = entities.filter(({ name }) => name !== null)
  return [...Map.groupBy(named, ({ name }) => name as string)]
    .filter(([, same]) => same.length > 1)
    .map(([name, same]) => ({ name, entity_ids: same.map(({ entity_id }) => entity_id) }))
}
