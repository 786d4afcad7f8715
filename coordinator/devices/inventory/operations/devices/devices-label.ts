import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DeviceViews } from '../../open.ts'
import { DeviceRef } from './device-ref.ts'
import { DeviceLabels } from './device-view.ts'

const MAX_LABELS = 64

export default defineOperation({
  id: 'devices-label',
  description: 'Replace the labels of a device: free text for people and filters.',
  method: 'PUT',
  path: '/v1/devices/{device_id}/labels',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  cli: { group: 'devices', verb: 'label', pairs: 'labels' },
  input: z.strictObject({
    device_id: DeviceRef,
    labels: DeviceLabels.refine(labels => Object.keys(labels).length <= MAX_LABELS, {
      error: `a device has at most ${MAX_LABELS} labels`,
    }).meta({ maxProperties: MAX_LABELS }),
  }),
  examples: [{ labels: { owner: 'lab' } }],
  output: z.object({ device_id: z.string(), name: z.string(), labels: DeviceLabels }),
  run: async ({ device_id, labels }, { devices, actor }: Context & DeviceViews) => {
    const { id, facts } = devices.find(device_id)
    const device = await devices.setLabels(id, labels, actor)
    return { device_id: id, name: facts.name, labels: device.labels }
  },
})
