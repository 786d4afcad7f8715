import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { DEVICE_ID } from '../../../../../shared/ids.ts'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import type { ApprovedPlan } from '../../../../../shared/wire/approved-plan.ts'
import { MAX_TTL_SECONDS, VerbName } from '../../../../../shared/wire/command.ts'
import { LIVE_GATE } from '../../../../../shared/wire/plan-part.ts'
import { limitJson } from '../../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { CellRef } from '../../../cells/cell-field.ts'
import type { EnrolmentViews } from '../../../enrolment/open.ts'
import type { CommandRequest } from '../../commands.ts'
import type { ControlViews } from '../../open.ts'
import { SENT_SUCCESS } from './command-success.ts'
import { CommandView, commandViewOf } from './command-view.ts'

const MAX_PARAMS_BYTES = 64 * 1024
/** Time that a command for a device may wait, in seconds: later the world around it has changed. */
const MAX_DEVICE_TTL_SECONDS = 60

export default defineOperation({
  id: 'commands-create',
  description: 'Send a command to a cell. Verbs that are unsafe need an approval first.',
  method: 'POST',
  path: '/v1/cells/{cell_id}/commands',
  access: 'operator',
  effect: 'gated',
  reasons: ['estop_holds'],
  tool: false,
  needsCallKey: ({ device_id, mode }) => device_id !== undefined && mode === 'live',
  input: z.strictObject({
    cell_id: CellRef,
    device_id: z
      .string()
      .regex(DEVICE_ID)
      .exactOptional()
      .describe(
        'Device that the verb is for; commands of one device are executed one after another.',
      ),
    verb: VerbName.describe('One of the verbs that the cell announces.'),
    params: limitJson(z.record(z.string().max(128), z.json()), MAX_PARAMS_BYTES).default({}),
    mode: z
      .enum(['live', 'dry'])
      .default('dry')
      .describe('With `dry` the cell validates the command and does nothing.'),
    ttl_seconds: z
      .int()
      .min(1)
      .max(MAX_TTL_SECONDS)
      .default(60)
      .describe(
        'How long the command may wait for the cell; then it expires. With a device: 60 s at most.',
      ),
  }),
  examples: [{ verb: 'ping' }],
  answers: { kind: 'command' },
  output: CommandView,
  success: SENT_SUCCESS,
  plan: async (
    { cell_id, device_id, verb, params, mode, ttl_seconds },
    context: Context & ControlViews & EnrolmentViews,
  ) => {
    requireShortWait({ device_id, ttl_seconds })
    const { cells, commands, actor, signal } = context
    const cell = await cells.get(cell_id)
    if (cell === undefined || cell.revokedAt !== undefined)
      throw createUnknownError('cell', cell_id)
    const device = device_id === undefined ? {} : { deviceId: device_id }
    const request = { cellId: cell_id, ...device, verb, params, mode, ttlSeconds: ttl_seconds }
    const summary =
      device_id === undefined ? `${verb} on ${cell_id}` : `${verb} on ${device_id} of ${cell_id}`
    if (!commands.needsApproval(request)) return { plan: { request, covers: {} }, summary }
    // the cell describes what the command would do; people approve that, and the cell compares it
    const { plan: covers, hazard, gate } = await commands.plan(request, actor, signal)
    // with these parameters the verb may be milder than the worst that it announces
    if (hazard !== 'unsafe') return { plan: { request: { ...request, hazard }, covers }, summary }
    return { plan: { request, covers }, covers, summary, gate: gate ?? LIVE_GATE }
  },
  run: async (
    { request, covers }: CreatePlan,
    { commands, actor }: Context & ControlViews,
    approval,
  ) =>
    commandViewOf(
      approval === undefined
        ? await commands.create(request, actor)
        : await approval.use((trx, signed) =>
            commands.createWithin(trx, request, actor, { plan: covers, approval: signed }),
          ),
    ),
  recall: async ([id = ''], { commands }: ControlViews) => {
    const made = await commands.get(id)
    return made && commandViewOf(made)
  },
})

const requireShortWait = ({
  device_id,
  ttl_seconds,
}: {
  device_id?: string | undefined
  ttl_seconds: number
}): void => {
  if (device_id === undefined || ttl_seconds <= MAX_DEVICE_TTL_SECONDS) return
  throw new ShoalError(
    'invalid_request',
    `a command for a device waits at most ${MAX_DEVICE_TTL_SECONDS} s, because the world around the device changes; send a smaller ttl_seconds`,
    { param: 'ttl_seconds' },
  )
}

interface CreatePlan {
  request: CommandRequest
  covers: ApprovedPlan['plan']
}
