import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceVerbFacts } from '../../../shared/wire/device.ts'
import type { Stops } from '../estop/stops.ts'
import type { Device } from '../inventory/device.table.ts'
import type { Devices } from '../inventory/devices.ts'
import type { SwarmConfig } from './config.ts'
import { isAtStart, requireFreeWays, requireKnownPlaces } from './feasibility.ts'
import type { FormationPlan } from './formation-plan.ts'
import type { Formations } from './formations.ts'
import {
  type Candidate,
  type Exclusion,
  isExclusion,
  isMovable,
  isUnit,
  judgeCandidate,
  MOVE_VERBS,
  type SwarmUnit,
} from './members.ts'
import { type PlannedSwarm, planSwarm, type SwarmRequest } from './plan-swarm.ts'

/**
 * Selection of the devices that are asked to take part; the configuration decides what is absent.
 */
interface SwarmSelection {
  members?: readonly string[] | undefined
  site?: string | undefined
}

interface SwarmMembers {
  site: string | null
  units: readonly SwarmUnit[]
  excluded: readonly Exclusion[]
}

interface SwarmParts {
  config: SwarmConfig
  devices: Pick<Devices, 'find' | 'level' | 'list' | 'profile' | 'state'>
  stops: Pick<Stops, 'findCovering'>
  formations: Pick<Formations, 'listOpen'>
}

/** The devices that form swarms. */
export class Swarm {
  readonly #parts: SwarmParts

  constructor(parts: SwarmParts) {
    this.#parts = parts
  }

  get config(): SwarmConfig {
    return this.#parts.config
  }

  /**
   * Lists the units of a selection, and the devices of its site that take no part.
   * @throws ShoalError invalid_request where the site is not clear, and not_found for a member
   */
  async listMembers({ members, site }: SwarmSelection): Promise<SwarmMembers> {
    const { config, devices, formations } = this.#parts
    const named = (members ?? config.members)?.map(reference => devices.find(reference))
    const taken = new Set(
      (await formations.listOpen()).flatMap(({ plan }) => plan.units.map(unit => unit.device_id)),
    )
    const candidates = devices.list().map(device => this.#describe(device, taken))
    const chosen = chooseSite(site ?? config.site, named, candidates.filter(isMovable))
    const judged = candidates
      .filter(({ device }) => device.facts.site === chosen)
      .map(candidate => judgeCandidate(candidate, chosen, config))
    const ids = named && new Set(named.map(({ id }) => id))
    const isAsked = ({ device }: SwarmUnit): boolean => ids === undefined || ids.has(device.id)
    const fit = judged.filter(isUnit)
    return {
      site: chosen,
      units: fit.filter(isAsked).sort((a, b) => (a.device_id < b.device_id ? -1 : 1)),
      excluded: [
        ...judged.filter(isExclusion),
        ...fit.filter(unit => !isAsked(unit)).map(toBystander),
      ],
    }
  }

  /** Plans a formation of the units; nothing is asked of their cells. */
  async plan(request: SwarmRequest & SwarmSelection): Promise<PlannedSwarm & SwarmMembers> {
    const members = await this.listMembers(request)
    requireKnownSite(members, this.#parts.devices.list())
    const planned = planSwarm(
      members.units,
      members.excluded,
      { ...request, site: members.site },
      this.config,
    )
    return { ...members, ...planned }
  }

  /**
   * True while each unit of a plan can take part and is where the plan begins.
   * @throws ShoalError conflict where another device is in the way by now, and cell_unavailable where
   * one may be
   */
  async isFeasible(plan: FormationPlan, selection: SwarmSelection): Promise<boolean> {
    const { units, excluded } = await this.listMembers(selection)
    if (!isAtStart(plan, units, plan.position_m)) return false
    requireKnownPlaces(excluded)
    requireFreeWays(plan, [...units, ...excluded])
    return true
  }

  #describe(device: Device, taken: ReadonlySet<string>): Candidate {
    const { devices, stops } = this.#parts
    const { id: deviceId, cellId, facts } = device
    const verbs = devices.profile(device)?.verbs
    return {
      device,
      readings: devices.state(device),
      verbs: verbs?.map(({ verb }) => verb),
      level: devices.level(device),
      speeds: readSpeeds(verbs?.find(({ verb }) => MOVE_VERBS.includes(verb))),
      estop: stops.findCovering({ cellId, deviceId, site: facts.site })?.reason,
      isInFormation: taken.has(deviceId),
    }
  }
}

const SpeedSchema = z.object({
  properties: z.object({
    speed_m_s: z.object({ minimum: z.number().optional(), maximum: z.number().optional() }),
  }),
})

/** Speeds that a verb accepts, from the JSON Schema of its parameters. */
const readSpeeds = (verb: DeviceVerbFacts | undefined): Candidate['speeds'] => {
  const { minimum, maximum } = SpeedSchema.safeParse(verb?.params).data?.properties.speed_m_s ?? {}
  return { min_m_s: minimum, max_m_s: maximum }
}

/** Positions of two sites have nothing in common, nor have those of devices without a site. */
const chooseSite = (
  wanted: string | undefined,
  named: readonly Device[] | undefined,
  movable: readonly Candidate[],
): string | null => {
  if (wanted !== undefined) return wanted
  const sites = new Set((named ?? movable.map(({ device }) => device)).map(one => one.facts.site))
  if (sites.size <= 1) return [...sites][0] ?? null
  throw new ShoalError(
    'invalid_request',
    `movable devices are at ${[...sites].map(site => site ?? 'no site').join(', ')}; name one site`,
    { param: 'site' },
  )
}

const requireKnownSite = (
  { site, units, excluded }: SwarmMembers,
  devices: readonly Device[],
): void => {
  if (site === null || units.length + excluded.length > 0) return
  const sites = new Set(devices.flatMap(({ facts }) => facts.site ?? []))
  const known =
    sites.size === 0 ? 'no device names a site' : `devices are at ${[...sites].join(', ')}`
  throw new ShoalError('invalid_request', `no device is at the site ${site}; ${known}`, {
    param: 'site',
  })
}

const toBystander = ({ device, place, frame }: SwarmUnit): Exclusion => ({
  device,
  reason: 'not_asked',
  message: 'it is not one of the members',
  frame,
  isUnseen: false,
  place: { x: place.x, y: place.y },
})
