import { hash } from 'node:crypto'
import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { Hazard } from '../../../../shared/wire/command.ts'
import { MQTT_PUBLISH, type MqttPublishParams } from '../../../../shared/wire/mqtt-bridge.ts'
import { LIVE_GATE, PlanPart, type Precondition } from '../../../../shared/wire/plan-part.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import { commandEnd } from '../../../fleet/control/command-end.ts'
import type { CommandPlan } from '../../../fleet/control/command-plan.ts'
import type { CommandRequest } from '../../../fleet/control/commands.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import {
  CommandView,
  commandViewOf,
} from '../../../fleet/control/operations/commands/command-view.ts'
import { chooseDeviceCell } from '../../../fleet/questions/ask-device-question.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { OperationPlan } from '../../../kernel/declaration/plan.ts'
import type { SingleUseApproval } from '../../../kernel/declaration/single-use-approval.ts'
import { checkViewOf } from '../../inventory/operations/devices/device-plan-view.ts'

/** Time limit of a call: planning, and the wait for the end of the command. */
export const PUBLISH_SECONDS = 60
const TTL_SECONDS = 60
const END_MS = 30_000

/** A message exactly as a cell would publish it. */
const PublishPlanView = z.object({
  cell_id: z.string(),
  hazard: Hazard.describe('`caution` for topics of the allow list, else `unsafe`.'),
  gate: z.string().nullable().describe('Gate that must approve it; null without one.'),
  broker: z.string().nullable().describe('Name of a configured broker; null for another one.'),
  host: z.string(),
  port: z.int(),
  topic: z.string(),
  payload: z.string(),
  payload_bytes: z.int(),
  payload_sha256: z.string(),
  retain: z.boolean(),
  qos: z.int(),
})

export const MqttPublishAnswer = z.object({
  /** False while its outcome is not known, or when it failed; `command` says which. */
  published: z.boolean(),
  plan: PublishPlanView,
  command: CommandView,
})

/** A publish as its cell has planned it. */
export interface PublishPlan {
  request: Omit<CommandRequest, 'mode'>
  covers: CommandPlan['plan']
  view: z.output<typeof PublishPlanView>
}

/** Lets a cell plan a publish; nothing is sent to the broker. */
export const planPublish = async (
  params: MqttPublishParams,
  { fleet, commands, cellId: named, actor, signal }: Context & ControlViews & FleetViews,
): Promise<OperationPlan<PublishPlan>> => {
  const cellId = chooseDeviceCell(fleet, named, MQTT_PUBLISH)
  const { broker, port, topic, payload } = params
  const noted = { broker: `${broker} ${port}`, topic, payload_sha256: hash('sha256', payload) }
  const request = { cellId, verb: MQTT_PUBLISH, params, ttlSeconds: TTL_SECONDS, noted }
  const { plan, hazard, gate = LIVE_GATE, checks } = await commands.plan(request, actor, signal)
  requireChecks(cellId, checks)
  const isGated = hazard === 'unsafe'
  const view = toView(plan, isGated ? gate : null)
  return {
    plan: { request: { ...request, hazard }, covers: plan, view },
    covers: plan,
    subject: `mqtt:${cellId}:${view.host}:${view.port}:${topic}`,
    summary: `publish ${view.payload_bytes} bytes to ${topic} at ${view.broker ?? `${view.host}:${view.port}`} from ${cellId}`,
    evidence: { checks: checks.map(checkViewOf) },
    shown: { ...view, checks: checks.map(checkViewOf) },
    ...(isGated && { gate }),
  }
}

const toView = (
  { parts: _, ...part }: CommandPlan['plan'],
  gate: string | null,
): PublishPlan['view'] => {
  const { cell_id, hazard, operations } = PlanPart.parse(part)
  return PublishPlanView.parse({ ...(operations[0] as object), cell_id, hazard, gate })
}

/** Throws `scope_denied` for a broker that the cell must not contact, and `conflict` at an e-stop. */
const requireChecks = (cellId: string, checks: readonly Precondition[]): void => {
  const failing = checks.find(({ holds }) => !holds)
  if (failing === undefined) return
  const code = failing.name === 'estop' ? 'conflict' : 'scope_denied'
  throw new ShoalError(code, `cell ${cellId} refuses it: ${String(failing.observed)}`)
}

/**
 * Publishes as planned, in the transaction that uses the approval where it needs one, and waits for
 * the end.
 */
export const runPublish = async (
  { request, covers, view }: PublishPlan,
  { commands, actor, signal, runtime }: Context & ControlViews,
  approval: SingleUseApproval | undefined,
): Promise<z.input<typeof MqttPublishAnswer>> => {
  const made =
    approval === undefined
      ? await commands.create({ ...request, mode: 'live' }, actor)
      : await approval.use((trx, signed) =>
          commands.createWithin(trx, request, actor, { plan: covers, approval: signed }),
        )
  const command = await commandEnd(commands, made, { timeoutMs: END_MS, signal, runtime })
  return {
    published: command.state === 'succeeded',
    plan: view,
    command: commandViewOf(command),
  }
}
