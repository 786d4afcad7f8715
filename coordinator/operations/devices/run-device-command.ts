import type { CommandRecord } from '../../control/command.ts'
import { commandEnd } from '../../control/command-end.ts'
import type { SingleUseApproval } from '../../gates/approval.ts'
import type { Context } from '../context.ts'
import type { DeviceViews } from '../declaration.ts'
import type { OperationPlan } from '../plan.ts'
import { devicePlanViewOf } from './device-plan-view.ts'
import {
  type DeviceCommandInput,
  findCommandedDevice,
  isUrgent,
  type PlannedDeviceCommand,
  planDeviceCommand,
  prepareDeviceCommand,
  requireChecks,
  type UrgentDeviceCommand,
} from './plan-device-command.ts'
import { runOnEveryCell, type UrgentEnd } from './urgent-cells.ts'

/** Time limit of a call that runs a command: planning, and the wait for its end. */
export const RUN_SECONDS = 60
const END_MS = 30_000

/**
 * True for a command that must not be carried out twice. What its device announces as urgent must
 * work in any case, so that nothing is asked of its callers.
 */
export const isOnceOnly = (
  { device_id, command }: DeviceCommandInput,
  { devices }: DeviceViews,
): boolean => !isUrgent(findCommandedDevice(device_id, command, devices), command, devices)

/** A planned command, or one that is sent at once. */
export type DeviceCommandPlan = PlannedDeviceCommand | UrgentDeviceCommand

export const isPlanned = (plan: DeviceCommandPlan): plan is PlannedDeviceCommand => 'part' in plan

/**
 * Plans a command for the pipeline: it is checked before a gate is asked, and stop, hold and land
 * are not planned at all.
 */
export const planLiveCommand = async (
  input: DeviceCommandInput,
  context: Context,
): Promise<OperationPlan<DeviceCommandPlan>> => {
  const { device, request, facts } = prepareDeviceCommand(input, context)
  const summary = `${request.verb} on ${device.facts.name} (${device.id})`
  if (facts.urgent === true) return { plan: { device, request }, summary }
  const planned = await planDeviceCommand(input, context)
  requireChecks(planned)
  return { ...toOperationPlan(planned), summary }
}

/** Plan of a dry run: failing checks are part of the answer. */
export const planDryCommand = async (
  input: DeviceCommandInput,
  context: Context,
): Promise<OperationPlan<DeviceCommandPlan>> =>
  toOperationPlan(await planDeviceCommand(input, context))

const toOperationPlan = (planned: PlannedDeviceCommand): OperationPlan<DeviceCommandPlan> => {
  const { device, part, plan, gate } = planned
  const view = devicePlanViewOf(planned)
  return {
    plan: planned,
    summary: `${part.verb} on ${device.facts.name} (${device.id})`,
    covers: plan,
    subject: `device:${device.id}:${part.verb}`,
    evidence: { checks: view.checks },
    shown: { operations: view.operations, bounds: view.bounds, checks: view.checks },
    ...(gate === undefined ? {} : { gate }),
  }
}

/** A command as it stands when the time is up. */
export interface DeviceCommandEnd {
  /** Of several cells, the one that the device belongs to counts, where it is reachable. */
  command: CommandRecord
  /** Every cell that an urgent command was sent to; empty for others. */
  cells: readonly UrgentEnd[]
}

/**
 * Creates the command, in the transaction that uses its approval where it needs one, and waits for
 * its end. What is urgent goes to every connected cell that announces the device.
 */
export const runDeviceCommand = async (
  plan: DeviceCommandPlan,
  context: Context,
  approval: SingleUseApproval | undefined,
): Promise<DeviceCommandEnd> => {
  if (isPlanned(plan)) return { command: await runPlanned(plan, context, approval), cells: [] }
  return runOnEveryCell(plan, context)
}

const runPlanned = async (
  plan: PlannedDeviceCommand,
  { commands, actor, signal }: Context,
  approval: SingleUseApproval | undefined,
): Promise<CommandRecord> => {
  const { request } = plan
  const made =
    approval === undefined
      ? await commands.create({ ...request, mode: 'live' }, actor)
      : await approval.use((trx, signed) =>
          commands.createWithin(trx, request, actor, { plan: plan.plan, approval: signed }),
        )
  return commandEnd(commands, made, { timeoutMs: END_MS, signal })
}
