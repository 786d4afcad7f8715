import * as z from 'zod'
import type { SuccessRule } from '../../../../../shared/success-rule.ts'
import { EstopBehaviour } from '../../../../../shared/wire/device.ts'
import type { EstoppedDevice } from '../../../../../shared/wire/estop.ts'
import { EstopScope, NO_REASON } from '../../../../../shared/wire/estop.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import {
  AskedView,
  SeenView,
  toAskedView,
  toSeenView,
} from '../../../../fleet/control/operations/commands/outcome-view.ts'
import type { Stop } from '../../../estop/estop.table.ts'
import type { StopReach } from '../../../estop/estops.ts'
import { nameTarget } from '../../../estop/names.ts'
import { stopData } from '../../../estop/stop.ts'
import type { DeviceViews } from '../../open.ts'

/** Reason of an e-stop or its release, for people and for the audit; nothing waits for one. */
export const EstopReason = z.string().trim().min(1).max(300).default(NO_REASON)

const MAX_LISTED = 100

export const EstopView = z.object({
  estop_id: z.string(),
  scope: EstopScope,
  target: z.string().nullable(),
  target_name: z.string().nullable().describe('Name of the device or cell, where it is known.'),
  cell_id: z.string().nullable().describe('The only cell that it is for; null for others.'),
  is_local: z.boolean().describe('True for a stop that was engaged on the machine of its cell.'),
  engaged_at: z.iso.datetime(),
  engaged_by: z.string(),
  reason: z.string(),
  released_at: z.iso.datetime().nullable(),
  released_by: z.string().nullable(),
  release_reason: z.string().nullable(),
  is_stored: z
    .boolean()
    .describe(
      'False while the stop is in force and not in the store; it is stored as soon as possible.',
    ),
  cells: z.object({
    asked: z.int().describe('Cells that must apply it, as far as they are known.'),
    confirmed: z.int().describe('Cells that have it on their disk, or have ended it.'),
    missing: z
      .array(
        z.object({
          cell_id: z.string(),
          name: z.string().nullable(),
          is_connected: z
            .boolean()
            .describe('False while it has no connection to the coordinator that answers.'),
          is_supported: z.boolean(),
        }),
      )
      .describe(`Cells that have not confirmed it; at most ${MAX_LISTED}.`),
  }),
})

/** Rule of an answer with an e-stop: every cell that must apply it has confirmed it. */
export const ESTOP_SUCCESS: SuccessRule = { field: 'cells.missing', codes: { 0: 0, '*': 69 } }

export const FailedDevice = z.object({
  cell_id: z.string(),
  device_id: z.string(),
  name: z.string().nullable(),
  reason: z.string(),
})

export const HeldDevice = z.object({
  cell_id: z.string(),
  device_id: z.string(),
  name: z.string().nullable(),
  behaviour: EstopBehaviour.describe('What the e-stop does with it.'),
  asked: AskedView,
  seen: SeenView,
  reason: z.string().nullable().describe('Why it is not known to be at rest; null when it is.'),
})

export const heldDeviceOf = (
  { cell_id, device_id, behaviour, asked, seen, reason }: EstoppedDevice & { cell_id: string },
  name: string | null,
): z.input<typeof HeldDevice> => ({
  cell_id,
  device_id,
  name,
  behaviour,
  asked: toAskedView(asked),
  seen: toSeenView(seen),
  reason: reason ?? null,
})

export const estopViewOf = (
  { stop, isStored, asked, confirmed, missing }: StopReach,
  { fleet, devices }: Pick<DeviceViews, 'devices'> & Pick<FleetViews, 'fleet'>,
): z.input<typeof EstopView> => ({
  ...stopData(stop),
  target_name: nameStored(stop, devices) ?? nameTarget(stop, fleet.cells()),
  is_stored: isStored,
  cells: {
    asked,
    confirmed,
    missing: missing.slice(0, MAX_LISTED).map(({ cellId, isConnected, isSupported }) => ({
      cell_id: cellId,
      name: fleet.cell(cellId)?.announce?.name ?? null,
      is_connected: isConnected,
      is_supported: isSupported,
    })),
  },
})

/** Name by the store: any cell may announce the id, or that of the device be connected elsewhere. */
const nameStored = ({ scope, target }: Stop, devices: DeviceViews['devices']): string | null =>
  (scope === 'device' && devices.get(target ?? '')?.facts.name) || null
