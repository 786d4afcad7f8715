import * as z from 'zod'
import {
  DEVICE_ENVELOPE,
  DEVICE_ENVELOPE_SECONDS,
  DeviceEnvelopeAnswer,
} from '../../../../../shared/wire/device-envelope.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import { askDeviceQuestion } from '../../../../fleet/questions/ask-device-question.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DeviceViews } from '../../open.ts'
import { ReadDeviceRef } from './device-ref.ts'

const MAX_ANSWER_BYTES = 256 * 1024

export default defineOperation({
  id: 'devices-envelope',
  description:
    'Show the safety limits of a device, merged to the most restrictive, each with its source.',
  method: 'GET',
  path: '/v1/devices/{device_id}/envelope',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ device_id: ReadDeviceRef }),
  output: z.object({
    device_id: z.string(),
    name: z.string(),
    cell_id: z.string(),
    site: z.string().nullable(),
    ...DeviceEnvelopeAnswer.shape,
  }),
  run: async ({ device_id }, { devices, fleet, signal }: Context & DeviceViews & FleetViews) => {
    const { id, cellId, facts } = devices.findToRead(device_id)
    const question = {
      name: DEVICE_ENVELOPE,
      input: { device_id: id },
      answer: DeviceEnvelopeAnswer,
      maxBytes: MAX_ANSWER_BYTES,
      maxSeconds: DEVICE_ENVELOPE_SECONDS,
    }
    const { bounds } = await askDeviceQuestion(fleet, cellId, question, signal)
    return { device_id: id, name: facts.name, cell_id: cellId, site: facts.site, bounds }
  },
})
