import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_DEVICE } from '../../../kernel/declaration/to-load.ts'
import type { SwarmViews } from '../open.ts'
import { ExcludedView, excludedViewOf, FormationView, formationViewOf } from './swarm-view.ts'

/** Formations that have ended and are shown beside those that run. */
const MAX_RECENT = 5

export default defineSkill({
  id: 'swarm-state',
  group: 'devices',
  name: 'Swarm state',
  description: 'Show which units can form a swarm now, and the formations that run or ran last.',
  tags: ['devices', 'swarm'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    site: z.string().nullable(),
    /** Units that can take part now. */
    ready: z.array(z.object({ device_id: z.string(), name: z.string(), cell_id: z.string() })),
    excluded: z.array(ExcludedView),
    running: z.array(FormationView),
    recent: z.array(FormationView),
  }),
  toLoad: CONNECT_DEVICE,
  run: async (_input, { swarm, formations, now }: Context & SwarmViews) => {
    const { site, units, excluded } = await swarm.listMembers({})
    const running = await formations.listOpen()
    const recent = await formations.list({ limit: MAX_RECENT })
    return {
      data_state: dataState(units.length + excluded.length + recent.length),
      site,
      ready: units.map(({ device }) => ({
        device_id: device.id,
        name: device.facts.name,
        cell_id: device.cellId,
      })),
      excluded: excluded.map(excludedViewOf),
      running: running.map(one => formationViewOf(one, now())),
      recent: recent
        .filter(({ endedAt }) => endedAt !== undefined)
        .map(one => formationViewOf(one, now())),
    }
  },
})
