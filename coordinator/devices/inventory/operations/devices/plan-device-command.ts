import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { FIRST_CAPABILITY, NEEDS, requireLevel } from '../../../../../shared/wire/capability.ts'
import { VerbName } from '../../../../../shared/wire/command.ts'
import { describeCheck } from '../../../../../shared/wire/describe-check.ts'
import type { DeviceVerbFacts } from '../../../../../shared/wire/device.ts'
import { LIVE_GATE, PlanPart, type Precondition } from '../../../../../shared/wire/plan-part.ts'
import type { GateViews } from '../../../../access/gates/open.ts'
import { planHash } from '../../../../access/gates/plan-hash.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { CommandPlan } from '../../../../fleet/control/command-plan.ts'
import type { CommandRequest } from '../../../../fleet/control/commands.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import { limitJson } from '../../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { Stop } from '../../../estop/estop.table.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { Device } from '../../device.table.ts'
import { reasonOf, seatOf } from '../../device.ts'
import type { DeviceViews } from '../../open.ts'
import { DeviceRef } from './device-ref.ts'
import { findCommandedDevices, requireVerb } from './find-commanded.ts'

const MAX_PARAMS_BYTES = 32 * 1024
/** Time that a command may wait for its cell, in seconds. */
const TTL_SECONDS = 60

/** Input of a command to a device. */
export const DEVICE_COMMAND = {
  device_id: DeviceRef,
  command: VerbName.describe('One of the commands that the device accepts.'),
  params: limitJson(z.record(z.string().max(128), z.json()), MAX_PARAMS_BYTES)
    .exactOptional()
    .describe('Parameters of the command, as the profile of the device describes them.'),
}

export interface DeviceCommandInput {
  device_id: string
  command: string
  params?: Record<string, z.core.util.JSONType>
}

type DeviceRequest = Omit<CommandRequest, 'mode'> & { deviceId: string }

/** A command to a device, as its cell would carry it out now. */
export interface PlannedDeviceCommand extends Pick<CommandPlan, 'plan' | 'checks'> {
  device: Device
  request: DeviceRequest
  part: PlanPart
  /** Gate that must approve it; absent without one. */
  gate?: string
  /** E-stop that holds the device; absent without one. */
  stopId?: string
  planHash: string
  expiresAt: number
}

/** A command that skips planning, because it can only reduce risk and must not wait. */
export interface UrgentDeviceCommand {
  device: Device
  request: DeviceRequest
}

type PreparedCommand = UrgentDeviceCommand & { facts: DeviceVerbFacts }
type PrepareViews = Pick<DeviceViews, 'devices'> & Pick<FleetViews, 'fleet'>

/**
 * Finds the one device of a command, and prepares it; see `prepareCommandOf`. Throws `not_found`,
 * and `conflict` where the reference names several devices.
 */
export const prepareDeviceCommand = (
  input: DeviceCommandInput,
  views: PrepareViews,
): PreparedCommand => {
  const { device_id, command } = input
  const [first, ...others] = findCommandedDevices(device_id, command, views).devices
  const device = others.length === 0 ? first : views.devices.find(device_id)
  return prepareCommandOf(device, input, views)
}

/**
 * Checks what is known of a command without the cell of its device. Throws `conflict` for a device
 * that accepts no commands or whose daemon is too old, `cell_unavailable`, and `invalid_request` for
 * a command that the device does not know.
 */
export const prepareCommandOf = (
  device: Device,
  { command, params = {} }: Pick<DeviceCommandInput, 'command' | 'params'>,
  { devices, fleet }: PrepareViews,
): PreparedCommand => {
  const { id, facts } = device
  const cellId = findCommandedCell(device, fleet)
  const announce = fleet.cell(cellId)?.announce
  if (announce === undefined) throw createElsewhereError(cellId)
  const { capability = FIRST_CAPABILITY } = announce
  requireLevel(cellId, capability, NEEDS.devices, 'a command for a device')
  const verb = requireVerb(device, devices.profile({ cellId, facts })?.verbs ?? [], command)
  if (cellId !== device.cellId && verb.urgent !== true) throw createElsewhereError(device.cellId)
  // the cell tries what is urgent in any case
  if (!facts.writable && verb.hazard !== 'read' && verb.urgent !== true)
    throw new ShoalError(
      'conflict',
      `${facts.name} accepts no commands: ${reasonOf(device) ?? 'it can only be read'}`,
    )
  const request = { cellId, deviceId: id, verb: command, params, ttlSeconds: TTL_SECONDS }
  return { device, request, facts: verb }
}

/**
 * Cell whose announcement describes the commands of a device here: its own, or, while that is not
 * connected to this coordinator, another one that announces the device, for what is urgent.
 */
const findCommandedCell = (
  { cellId, alsoOn }: Device,
  fleet: Pick<FleetViews['fleet'], 'cell'>,
): string => [cellId, ...alsoOn].find(one => fleet.cell(one)?.announce !== undefined) ?? cellId

const createElsewhereError = (cellId: string): ShoalError =>
  new ShoalError('cell_unavailable', `${cellId} is not connected to this coordinator`)

/** Lets the cell plan a command and check it; nothing is sent to the device. */
export const planDeviceCommand = async (
  input: DeviceCommandInput,
  context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
): Promise<PlannedDeviceCommand> => {
  const { commands, gates, estops, actor, signal, now } = context
  const { device, request, facts } = prepareDeviceCommand(input, context)
  const {
    plan,
    hazard,
    gate = LIVE_GATE,
    checks,
  } = await commands
    .plan(request, actor, signal)
    .catch(error => throwWithParameters(error, device, facts))
  const isHeld = hazard !== 'read' && facts.urgent !== true
  const { parts: _, ...part } = plan
  const own = hazard === 'unsafe' ? { gate } : {}
  const waitsMs =
    hazard === 'unsafe' ? gates.definition(gate).request_minutes * 60_000 : TTL_SECONDS * 1000
  const stop = isHeld ? estops.findCovering(seatOf(device)) : undefined
  return {
    device,
    request: { ...request, hazard },
    part: PlanPart.parse(part),
    plan,
    checks: [...checkStop(stop, device), ...checks],
    ...(stop !== undefined && { stopId: stop.id }),
    ...own,
    planHash: planHash(plan),
    expiresAt: now() + waitsMs,
  }
}

/** Throws an error about a parameter with those that the command takes. */
const throwWithParameters = (
  error: unknown,
  { facts: { name } }: Device,
  { verb, params }: DeviceVerbFacts,
): never => {
  if (!(error instanceof ShoalError) || error.param !== 'params') throw error
  const { properties, required } = Parameters.parse(params)
  const takes = Object.keys(properties).map(each =>
    required.includes(each) ? each : `${each} (optional)`,
  )
  const known = takes.length === 0 ? 'no parameters' : takes.join(', ')
  const message = `${error.message}; ${verb} of ${name} takes ${known}`
  throw new ShoalError('invalid_request', message, { param: 'params', cause: error })
}

const Parameters = z.object({
  properties: z.record(z.string(), z.unknown()).catch({}),
  required: z.array(z.string()).catch([]),
})

/** An e-stop refuses every command but reading and what is urgent. */
const checkStop = (stop: Stop | undefined, { facts }: Device): Precondition[] => {
  if (stop === undefined) return []
  const observed = `e-stop ${stop.id} holds ${facts.name} (${stop.reason})`
  return [{ name: 'estop', observed, limit: null, holds: false }]
}

/** Throws `conflict` with the values of the checks that fail. */
export const requireChecks = ({
  device,
  part,
  checks,
  stopId,
}: Pick<PlannedDeviceCommand, 'device' | 'part' | 'checks' | 'stopId'>): void => {
  const failing = checks.filter(({ holds }) => !holds)
  if (failing.length === 0) return
  const stop = failing.find(({ name }) => name === 'estop')
  if (stop !== undefined)
    throw new ShoalError(
      'conflict',
      `${stop.observed}: ${part.verb} is refused until it is released`,
      { reason: 'estop_holds', ...(stopId && { next: `shoal release ${stopId}` }) },
    )
  throw new ShoalError(
    'conflict',
    `${part.verb} on ${device.facts.name} is refused: ${failing.map(describeCheck).join('; ')}`,
  )
}
