import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import { countByHour, FormationBucket, MAX_IN_SERIES } from './formation-series.ts'

const HOUR_MS = 3_600_000

export default defineOperation({
  id: 'swarm-series',
  description: 'Count the formations of each hour by their ends.',
  method: 'GET',
  path: '/v1/swarm/series',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    hours: z.int().min(1).max(2160).default(168).describe('Hours to look back.'),
  }),
  output: z.object({ data_state: DataState, buckets: z.array(FormationBucket) }),
  run: async ({ hours }, { formations, now }: Context & SwarmViews) => {
    const since = now() - hours * HOUR_MS
    const found = await formations.list({ since, limit: MAX_IN_SERIES })
    return { data_state: dataState(found.length), buckets: countByHour(found) }
  },
})
