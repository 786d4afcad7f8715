import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { findCursorRow, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { DeltaView, deltaViewOf } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-changes',
  description: 'List changes of the inventory, oldest first.',
  method: 'GET',
  path: '/v1/discovery/deltas',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'delta' },
  input: z.strictObject({
    hours: z.int().min(1).max(2160).default(24).describe('Length of the period before now.'),
    after: z.int().min(0).default(0).describe('Number of the last delta of the previous page.'),
    limit: pageLimit(1000, 100),
  }),
  output: z.object({
    deltas: z.array(DeltaView),
    next: z.int().nullable().describe('Value of `after` for the next page; null at the end.'),
  }),
  run: async ({ hours, after, limit }, { entityQuery, now }: Context & EntityViews) => {
    const deltas = await entityQuery.deltas({ since: now() - hours * 3_600_000, after, limit })
    return { deltas: deltas.map(deltaViewOf), next: findCursorRow(deltas, limit)?.seq ?? null }
  },
})
