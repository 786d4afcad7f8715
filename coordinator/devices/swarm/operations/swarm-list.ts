import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { findCursorRow, NextCursor, PAGE } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import { FormationView, formationViewOf } from './swarm-view.ts'

export default defineOperation({
  id: 'swarm-list',
  description: 'List formations that were started, newest first.',
  method: 'GET',
  path: '/v1/swarm/formations',
  access: 'operator',
  effect: 'read',
  input: z.strictObject(PAGE),
  output: z.object({
    data_state: DataState,
    formations: z.array(FormationView),
    next: NextCursor,
  }),
  run: async (input, { formations, now }: Context & SwarmViews) => {
    const found = await formations.list(input)
    return {
      data_state: dataState(found.length),
      formations: found.map(one => formationViewOf(one, now())),
      next: findCursorRow(found, input.limit)?.id ?? null,
    }
  },
})
