import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { DeviceKind } from '../../../../../shared/wire/device.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { Device } from '../../device.table.ts'
import { compareByName, kindOf } from '../../device.ts'
import type { DeviceViews } from '../../open.ts'
import { DeviceCursor } from './device-ref.ts'
import { DeviceSummary, deviceSummaryOf } from './device-view.ts'

export default defineOperation({
  id: 'devices-list',
  description: 'List the devices of the fleet with their state and the commands they accept.',
  method: 'GET',
  path: '/a2a/devices',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    site: z.string().max(64).exactOptional().describe('Only devices of this site.'),
    kind: DeviceKind.exactOptional().describe('Only devices of this kind.'),
    available: z
      .boolean()
      .exactOptional()
      .describe('Only devices that are available, or only those that are not.'),
    after: DeviceCursor.exactOptional(),
    limit: pageLimit(),
  }),
  output: z.object({
    data_state: DataState,
    /** Devices by name. */
    devices: z.array(DeviceSummary),
    /** Devices that match, on all pages. */
    total: z.int(),
    next: NextCursor,
  }),
  run: ({ after, limit, ...filter }, context: Context & DeviceViews & EstopViews) => {
    const matching = context.devices.list().filter(device => isMatch(device, filter))
    const rest = matching.filter(createAfter(after))
    const page = rest.slice(0, limit)
    const last = page.at(-1)
    return {
      data_state: dataState(matching.length),
      devices: page.map(device => deviceSummaryOf(device, context)),
      total: matching.length,
      next: last === undefined || rest.length === page.length ? null : cursorOf(last),
    }
  },
})

const isMatch = (
  { facts, kind, isAvailable }: Device,
  filter: { site?: string; kind?: DeviceKind; available?: boolean },
): boolean =>
  (filter.site === undefined || facts.site === filter.site) &&
  (filter.kind === undefined || kindOf({ kind }) === filter.kind) &&
  (filter.available === undefined || isAvailable === filter.available)

const cursorOf = ({ id, facts }: Device): string =>
  Buffer.from(JSON.stringify([facts.name, id])).toString('base64url')

const Cursor = z.tuple([z.string(), z.string()])

/** Returns whether a device comes after the row of the cursor. Throws `invalid_request`. */
const createAfter = (cursor: string | undefined): ((device: Device) => boolean) => {
  if (cursor === undefined) return () => true
  const [name, id] = parseCursor(cursor)
  return device => compareByName({ name: device.facts.name, id: device.id }, { name, id }) > 0
}

const parseCursor = (cursor: string): z.output<typeof Cursor> => {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch (cause) {
    throw new ShoalError('invalid_request', 'this is not the `next` of a page', {
      param: 'after',
      cause,
    })
  }
}
