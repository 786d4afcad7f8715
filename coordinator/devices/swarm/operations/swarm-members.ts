import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import { ExcludedView, excludedViewOf } from './swarm-view.ts'

export default defineOperation({
  id: 'swarm-members',
  description: 'List the units that can form a swarm now, and why other devices cannot.',
  method: 'GET',
  path: '/v1/swarm/members',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    site: z.string().min(1).max(64).exactOptional().describe('Site of the units.'),
  }),
  output: z.object({
    data_state: DataState,
    site: z.string().nullable(),
    members: z.array(
      z.object({
        device_id: z.string(),
        name: z.string(),
        cell_id: z.string(),
        x_m: z.number(),
        y_m: z.number(),
        altitude_m: z.number(),
        radius_m: z.number(),
        max_speed_m_s: z.number(),
      }),
    ),
    excluded: z.array(ExcludedView),
  }),
  run: async (input, { swarm }: SwarmViews) => {
    const { site, units, excluded } = await swarm.listMembers(input)
    return {
      data_state: dataState(units.length),
      site,
      members: units.map(({ device, place, radius_m, max_speed_m_s }) => ({
        device_id: device.id,
        name: device.facts.name,
        cell_id: device.cellId,
        x_m: place.x,
        y_m: place.y,
        altitude_m: place.altitude_m,
        radius_m,
        max_speed_m_s,
      })),
      excluded: excluded.map(excludedViewOf),
    }
  },
})
