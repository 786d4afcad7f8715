import * as z from 'zod'
import { pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'

export default defineOperation({
  id: 'discovery-pins',
  description: 'List merges, splits and values that operators have set, the newest first.',
  method: 'GET',
  path: '/v1/discovery/pins',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'pins' },
  input: z.strictObject({ limit: pageLimit(2000, 200) }),
  output: z.object({
    pins: z.array(
      z.object({
        pin_id: z.string(),
        kind: z
          .enum(['together', 'apart', 'values', 'unreadable'])
          .describe(
            '`unreadable` is damaged or of a newer version: it holds what it is about as it is, and ' +
              '`discovery-unpin` removes it.',
          ),
        entity_id: z.string(),
        values: z.record(z.string(), z.any()).nullable(),
        actor: z.string().nullable().describe('Null for an unreadable one.'),
        at: z.iso.datetime().nullable().describe('Null for an unreadable one.'),
      }),
    ),
  }),
  run: async ({ limit }, { entityAdmin }: EntityViews) => ({
    pins: await entityAdmin.listPins(limit),
  }),
})
