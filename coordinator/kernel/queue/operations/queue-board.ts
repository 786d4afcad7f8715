import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import { JOB_STATES } from '../job.ts'
import type { QueueViews } from '../open.ts'

export default defineOperation({
  id: 'queue-board',
  description: 'Show the number and cost of jobs by project, team, kind and state.',
  method: 'GET',
  path: '/v1/queue/board',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    lines: z.array(
      z.object({
        project: z.string().nullable(),
        team: z.string().nullable(),
        kind: z.string(),
        state: z.enum(JOB_STATES),
        jobs: z.int(),
        cost_eur: z.number(),
      }),
    ),
  }),
  run: async (_input, context: Context & QueueViews) => {
    const lines = await context.queue.board(scopeOf(context))
    return {
      lines: lines.map(({ costCents, ...line }) => ({ ...line, cost_eur: costCents / 100 })),
    }
  },
})
