import * as z from 'zod'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import {
  CommandView,
  commandViewOf,
} from '../../../../fleet/control/operations/commands/command-view.ts'
import { findCursorRow, NextCursor, PAGE } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DeviceViews } from '../../open.ts'
import { ReadDeviceRef } from './device-ref.ts'

export default defineOperation({
  id: 'devices-commands',
  description: 'List the live commands of a device with their outcomes, newest first.',
  method: 'GET',
  path: '/v1/devices/{device_id}/commands',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ device_id: ReadDeviceRef, ...PAGE }),
  output: z.object({ commands: z.array(CommandView), next: NextCursor }),
  run: async ({ device_id, before, limit }, { devices, commands }: ControlViews & DeviceViews) => {
    const { id } = devices.findToRead(device_id)
    const page = before === undefined ? { limit } : { before, limit }
    const found = await commands.list({ deviceId: id, ...page })
    return { commands: found.map(commandViewOf), next: findCursorRow(found, limit)?.id ?? null }
  },
})
