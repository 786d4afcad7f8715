import * as z from 'zod'
import type { Context } from '../../declaration/context.ts'
import { DataState, dataState } from '../../declaration/data-state.ts'
import { defineSkill } from '../../declaration/skill.ts'
import { scopeOf } from '../../declaration/tenant-scope.ts'
import { JOB_STATES } from '../job.ts'
import type { BoardLine } from '../job-query.ts'
import type { QueueViews } from '../open.ts'

const Total = z.object({ jobs: z.int(), cost_eur: z.number() })

export default defineSkill({
  id: 'get_queue_board',
  group: 'fleet',
  name: 'Queue board',
  description: 'Show the jobs of the queue and their expected cost by project, team and status.',
  tags: ['queue', 'cost', 'operations'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    total: Total.describe('Jobs that the queue still has, whatever their status.'),
    by_status: z.record(z.enum(JOB_STATES), Total),
    by_project: z.array(Total.extend({ project: z.string().nullable() })),
    by_team: z.array(Total.extend({ team: z.string().nullable() })),
    lines: z.array(
      Total.extend({
        project: z.string().nullable(),
        team: z.string().nullable(),
        kind: z.string(),
        status: z.enum(JOB_STATES),
      }),
    ),
  }),
  toLoad: 'the run of a flow, which is a job: `shoal flows run`; docs/flows.md',
  run: async (_input, context: Context & QueueViews) => {
    const lines = await context.queue.board(scopeOf(context))
    return {
      data_state: dataState(lines.length),
      total: sum(lines),
      by_status: Object.fromEntries(
        JOB_STATES.map(state => [state, sum(lines.filter(line => line.state === state))]),
      ) as Record<(typeof JOB_STATES)[number], z.input<typeof Total>>,
      by_project: groupBy(lines, line => line.project).map(([project, of]) => ({
        project,
        ...sum(of),
      })),
      by_team: groupBy(lines, line => line.team).map(([team, of]) => ({ team, ...sum(of) })),
      lines: lines.map(({ costCents, state, ...line }) => ({
        ...line,
        status: state,
        cost_eur: costCents / 100,
      })),
    }
  },
})

const sum = (lines: readonly BoardLine[]): z.input<typeof Total> => ({
  jobs: lines.reduce((jobs, line) => jobs + line.jobs, 0),
  cost_eur: lines.reduce((cents, line) => cents + line.costCents, 0) / 100,
})

const groupBy = (
  lines: readonly BoardLine[],
  keyOf: (line: BoardLine) => string | null,
): [string | null, BoardLine[]][] => [...Map.groupBy(lines, keyOf)]
