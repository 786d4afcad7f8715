import * as z from 'zod'
import { nextTurn } from '../../../../shared/runtime.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { drawGanttSvg } from '../gantt-svg.ts'
import type { PlanningViews } from '../open.ts'
import { requireBoundedWork, SCHEDULE_FIELDS } from './schedule-input.ts'
import { planSchedule, SCHEDULE_VIEW } from './schedule-view.ts'

export default defineSkill({
  id: 'gantt_schedule',
  group: 'planning',
  name: 'Gantt schedule',
  description:
    'Schedule tasks with dependencies: critical path, floats, dates, PERT and a Monte Carlo simulation; also as a chart.',
  tags: ['planning', 'schedule', 'critical-path', 'monte-carlo'],
  access: 'key',
  effect: 'read',
  constantBecause: 'It computes from its arguments alone.',
  publishesInput: false,
  input: z
    .strictObject({
      ...SCHEDULE_FIELDS,
      as: z
        .enum(['json', 'svg'])
        .default('json')
        .describe('Format of the answer on REST: JSON, or the Gantt chart as SVG.'),
      title: z.string().min(1).max(200).default('Schedule').describe('Heading of the chart.'),
    })
    .superRefine(requireBoundedWork),
  output: z.object({
    ...SCHEDULE_VIEW,
    /** Content type of the chart; null unless `as` is svg. */
    content_type: z.string().nullable(),
    svg: z.string().nullable(),
  }),
  text: { body: 'svg', type: 'content_type', types: ['image/svg+xml'] },
  examples: [
    {
      start_date: '2027-03-01',
      holidays: ['2027-03-26'],
      tasks: [
        { id: 'design', duration_days: 5, optimistic_days: 4, pessimistic_days: 9 },
        {
          id: 'build',
          duration_days: 10,
          depends_on: ['design'],
          optimistic_days: 8,
          pessimistic_days: 18,
        },
        {
          id: 'test',
          duration_days: 6,
          depends_on: [{ id: 'build', type: 'SS', lag_days: 5 }],
        },
        { id: 'release', duration_days: 0, depends_on: ['build', 'test'] },
      ],
    },
  ],
  run: async (input, context: Context & PlanningViews) => {
    const { schedule, view } = await planSchedule(input, context)
    if (input.as === 'json') return { ...view, content_type: null, svg: null }
    const tasks = input.tasks.map(({ id, name, complete_percent: completePercent }) => ({
      id,
      name,
      completePercent,
    }))
    const svg = drawGanttSvg(schedule, tasks, input.title)
    // the chart of a thousand tasks takes a turn of the event loop of its own
    await nextTurn(context.runtime)
    return { ...view, content_type: 'image/svg+xml; charset=utf-8', svg }
  },
})
