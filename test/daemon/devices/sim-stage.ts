import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { createStoppableDevices } from '../../../daemon/devices/stoppable-host.ts'
import type { DeviceLink, Execution } from '../../../devices/device-link.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import type { Json } from '../../../devices/profile.ts'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { newId } from '../../../shared/ids.ts'
import type { Command, Hazard } from '../../../shared/wire/command.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { LIVE_GATE, type PlanPart } from '../../../shared/wire/plan-part.ts'
import { silent } from '../../support/cell.ts'
import type { HistoryDevice } from '../commands/history-steps.ts'
import type { CreateStage, Stage, StagedCommand, StageLife } from '../commands/stage.ts'

const CELL = newId('cell')
/** Simulated time between two steps of a history. */
const STEP_MS = 400

/** Real time for a device to come to rest; simulated time passes much faster. */
const REST_MS = 50
/** Real time to wait for devices that never come to rest. */
const RESTLESS_MS = 1

const DEVICES = [
  { name: 'rover', profile: 'sim-rover', battery_metres: 1e6 },
  { name: 'drone', profile: 'sim-drone', x_m: 50, battery_metres: 1e6 },
  { name: 'printer', profile: 'sim-printer', site: 'hall' },
  { name: 'switch', profile: 'sim-switch' },
]

interface Use {
  device: string
  verb: string
  params: Record<string, Json>
}

/** Uses of verbs by device and hazard; the number makes the operations of most uses unique. */
const chooseUse = (device: HistoryDevice, hazard: Hazard, number: number, isFar: boolean): Use => {
  const isHarmless = hazard === 'read' || hazard === 'safe'
  if (device === 'rover') {
    const to = {
      x_m: isFar ? 500 + number : number / 10,
      y_m: 0,
      speed_m_s: hazard === 'unsafe' ? 1 : 0.2,
    }
    return isHarmless
      ? { device: 'rover', verb: 'hold', params: {} }
      : { device: 'rover', verb: 'move-to', params: to }
  }
  if (hazard === 'caution')
    return { device: 'switch', verb: number % 2 === 0 ? 'on' : 'off', params: {} }
  if (device === 'none') return { device: 'drone', verb: isHarmless ? 'hold' : 'arm', params: {} }
  return isHarmless
    ? { device: 'printer', verb: 'stop', params: {} }
    : { device: 'printer', verb: 'raw-gcode', params: { lines: [`G1 X${number}`] } }
}

/** Link of devices that acknowledge every stop and drive on. */
class RestlessLink extends SimLink {
  override async stop(..._given: Parameters<SimLink['stop']>): Promise<DeviceOutcome> {
    return { asked: { sent: [{ name: 'halt', answer: 'accepted' }] }, seen: NOTHING_SEEN.seen }
  }

  override async execute(...given: Parameters<SimLink['execute']>): Promise<Execution> {
    const [deviceId, operations] = given
    const isStop = operations.some(each => JSON.stringify(each).includes('"hold"'))
    if (!isStop) return super.execute(...given)
    return { ...(await this.stop(deviceId, 'hold')), result: null }
  }
}

/** Reports each execution before the simulated devices begin it. */
class WatchedLink implements DeviceLink {
  readonly kind = 'sim'
  readonly #link: SimLink
  readonly #life: StageLife

  constructor(link: SimLink, life: StageLife) {
    this.#link = link
    this.#life = life
  }

  start = (): void => {}
  list = (): ReturnType<DeviceLink['list']> => this.#link.list()
  readState: DeviceLink['readState'] = id => this.#link.readState(id)
  onChange: DeviceLink['onChange'] = listener => this.#link.onChange(listener)
  stop: DeviceLink['stop'] = (id, behaviour) => this.#link.stop(id, behaviour)

  execute: DeviceLink['execute'] = async (deviceId, operations, context) => {
    const sent = canonicalJson([...operations])
    const isSame = (command: Command): boolean =>
      command.device_id === deviceId && canonicalJson([...this.#plan(command)]) === sent
    const command = this.#life.findRunning(isSame)
    if (command === undefined) throw new Error('nobody has issued these operations')
    const isStop = command.verb === 'stop' || command.verb === 'hold'
    await (isStop ? this.#life.onStop(command) : this.#life.onRun(command))
    return this.#link.execute(deviceId, operations, context)
  }

  #plan({ device_id, verb: name, params }: Command): readonly Json[] {
    const device = this.#link.list().find(({ deviceId }) => deviceId === device_id)
    const verb = device?.profile.verbs[name]
    if (device === undefined || verb === undefined) return []
    const target = { device_id: device.deviceId, options: device.options, envelope: {} }
    return verb.plan(verb.params.parse(params), target).operations
  }
}

/** Simulated devices, which outlive the daemon; a drone stands in for the cell itself. */
export const createSimStage: CreateStage = ({ now }) => openStage(now, SimLink)

/** Stage of devices that acknowledge a stop and drive on, to goals that are far away. */
export const createRestlessStage: CreateStage = ({ now }) => openStage(now, RestlessLink)

const openStage = (now: () => number, Link: typeof SimLink): Stage => {
  const config = SimLinkConfig.parse({ kind: 'sim', devices: DEVICES })
  const sim = new Link(config, { cellId: CELL, now, nowMs: () => 0 })
  const isRestless = Link === RestlessLink
  const restMs = isRestless ? RESTLESS_MS : REST_MS
  let host = createHost(sim, now, restMs)
  return {
    cellId: CELL,
    open: life => {
      // a daemon that died repeats nothing
      host.keeper.close()
      host = createHost(new WatchedLink(sim, life), now, restMs)
      return { verbs: [], devices: host, stoppable: createStoppableDevices(host) }
    },
    create: (_act, hazard, device, number) =>
      createDeviceCommand(host, chooseUse(device, hazard, number, isRestless)),
    passTime: () => sim.advance(STEP_MS),
    isMoving: id =>
      Number(sim.world.units.find(({ deviceId }) => deviceId === id)?.truth.speed_m_s ?? 0) > 0,
  }
}

const createHost = (link: DeviceLink, now: () => number, restMs: number): DeviceHost =>
  new DeviceHost({
    config: {},
    links: [link],
    restMs,
    recoverMs: restMs,
    now,
    nowMs: () => 0,
    logger: silent,
  })

/** The part is what a dry run on the cell returns. */
const createDeviceCommand = (host: DeviceHost, use: Use): StagedCommand => {
  const hosted = host.listDevices().find(({ device }) => device.name === use.device)
  const device_id = hosted?.device.deviceId ?? ''
  const verb = host.findVerb(device_id, use.verb)
  if (verb === undefined) throw new Error(`${use.device} has no verb ${use.verb}`)
  const params = verb.params.parse(use.params)
  const hazard = verb.hazardOf?.(params) ?? verb.hazard
  const { operations, bounds, gate = verb.gate ?? LIVE_GATE } = verb.plan(params)
  const own = { cell_id: CELL, device_id, verb: use.verb, hazard }
  const part: PlanPart = { ...own, ...(hazard === 'unsafe' && { gate }), operations, bounds }
  return { target: { device_id, verb: use.verb, params: use.params, hazard }, part }
}
