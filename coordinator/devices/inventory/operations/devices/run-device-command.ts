import type { GateViews } from '../../../../access/gates/open.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { CommandRecord } from '../../../../fleet/control/command.ts'
import { commandEnd } from '../../../../fleet/control/command-end.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { OperationPlan } from '../../../../kernel/declaration/plan.ts'
import type { SingleUseApproval } from '../../../../kernel/declaration/single-use-approval.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { devicePlanViewOf } from './device-plan-view.ts'
import { findCommandedDevices } from './find-commanded.ts'
import {
  type DeviceCommandInput,
  type PlannedDeviceCommand,
  planDeviceCommand,
  requireChecks,
} from './plan-device-command.ts'
import {
  type DeviceCommandEnd,
  planUrgentCommand,
  runUrgentCommand,
  type UrgentPlan,
} from './urgent-command.ts'

/** Time limit of a call that runs a command: planning, and the wait for its end. */
export const RUN_SECONDS = 60
const END_MS = 30_000

/**
 * True for a command that must not be carried out twice. What its device announces as urgent must
 * work in any case, so that nothing is asked of its callers.
 */
export const isOnceOnly = (
  { device_id, command }: DeviceCommandInput,
  views: DeviceViews,
): boolean => !findCommandedDevices(device_id, command, views).isUrgent

/** A planned command, or one that is sent at once. */
export type DeviceCommandPlan = PlannedDeviceCommand | UrgentPlan

export const isPlanned = (plan: DeviceCommandPlan): plan is PlannedDeviceCommand => 'part' in plan

/**
 * Plans a command for the pipeline: it is checked before a gate is asked, and stop, hold and land
 * are not planned at all.
 */
export const planLiveCommand = async (
  input: DeviceCommandInput,
  context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
): Promise<OperationPlan<DeviceCommandPlan>> => {
  const commanded = findCommandedDevices(input.device_id, input.command, context)
  if (commanded.isUrgent) return planUrgentCommand(commanded, input, context)
  const planned = await planDeviceCommand(input, context)
  requireChecks(planned)
  return toOperationPlan(planned)
}

/** Plan of a dry run: failing checks are part of the answer. */
export const planDryCommand = async (
  input: DeviceCommandInput,
  context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
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

/**
 * Creates the command, in the transaction that uses its approval where it needs one, and waits for
 * its end. What is urgent goes to every device that was named.
 */
export const runDeviceCommand = async (
  plan: DeviceCommandPlan,
  context: Context & ControlViews & FleetViews,
  approval: SingleUseApproval | undefined,
): Promise<DeviceCommandEnd> => {
  if (!isPlanned(plan)) return runUrgentCommand(plan, context)
  return { command: await runPlanned(plan, context, approval), cells: [], devices: [] }
}

/**
 * Outcome of the command of an interrupted call, whose end is waited for as the call did; undefined
 * where the call created several: one of them does not say how the other devices ended.
 */
export const recallDeviceCommand = async (
  [id = '', ...others]: readonly string[],
  { commands, signal, runtime }: Context & ControlViews,
): Promise<DeviceCommandEnd | undefined> => {
  const made = others.length === 0 ? await commands.get(id) : undefined
  if (made === undefined) return undefined
  const command = await commandEnd(commands, made, { timeoutMs: END_MS, signal, runtime })
  return { command, cells: [], devices: [] }
}

const runPlanned = async (
  plan: PlannedDeviceCommand,
  { commands, actor, signal, runtime }: Context & ControlViews,
  approval: SingleUseApproval | undefined,
): Promise<CommandRecord> => {
  const { request } = plan
  const made =
    approval === undefined
      ? await commands.create({ ...request, mode: 'live' }, actor)
      : await approval.use((trx, signed) =>
          commands.createWithin(trx, request, actor, { plan: plan.plan, approval: signed }),
        )
  return commandEnd(commands, made, { timeoutMs: END_MS, signal, runtime })
}
