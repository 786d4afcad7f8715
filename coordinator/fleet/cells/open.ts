import type { Logger } from 'pino'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import { throttleById } from '../../kernel/base/at-most-every.ts'
import type { Base } from '../../kernel/base/base.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import { Router } from '../routing/router.ts'
import type { Cell } from './cell.ts'
import { Fleet } from './fleet.ts'
import type { Presence } from './presence.ts'
import { Standstill } from './standstill.ts'

/** Views of the cells and of the router that chooses among them. */
export interface FleetViews {
  fleet: Pick<Fleet, 'cell' | 'cells' | 'serves'>
  /** `nowMs` is monotonic. */
  routing: {
    router: Pick<Router, 'listPools' | 'mayUse' | 'pools' | 'tenantOf'>
    nowMs: () => number
  }
}

/** Events of cells that other domains subscribe to. */
export interface FleetListeners {
  presenceChanges: Listeners<[cell: Cell, from: Presence]>
  /** A cell whose engines or their places have changed. */
  routingChanges: Listeners<[cell: Cell]>
  removals: Listeners<[cellId: string]>
  births: Listeners<[cell: Cell]>
  /** Event of an enrolled cell that sends a message before its birth was received. */
  unannouncedReports: Listeners<[cellId: string]>
  samples: Listeners<[cell: Cell, sample: Sample]>
  lateSamples: Listeners<[cell: Cell, samples: Sample[], clockAheadMs: number]>
}

interface FleetDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs' | 'runtime'> {
  config: { presence: PresenceConfig }
}

interface PresenceConfig {
  suspect_after_seconds: number
  dead_after_seconds: number
}
interface OpenFleet {
  fleet: Fleet
  fleetListeners: FleetListeners
  router: Router
  standstill: Standstill
  views: FleetViews
}

/** Interval between two checks for silent cells. */
const SWEEP_SECONDS = 0.25
const EPOCH_WARNING_MS = 60_000

export const openFleet = (parts: FleetDomainParts): OpenFleet => {
  const { config, stack, schedules, logger, nowMs, runtime } = parts
  const router = new Router(runtime.random, nowMs)
  const standstill = new Standstill()
  const listeners = newListeners()
  listeners.presenceChanges.add((cell, from) => {
    logger.info({ cell: cell.id, from, to: cell.presence }, 'cell changed')
  })
  const fleet = new Fleet({
    router,
    standstill,
    onRoutingChange: listeners.routingChanges.notify,
    limits: {
      suspectAfterMs: config.presence.suspect_after_seconds * 1000,
      deadAfterMs: config.presence.dead_after_seconds * 1000,
    },
    nowMs,
    onPresenceChange: listeners.presenceChanges.notify,
    onForget: listeners.removals.notify,
    onBirth: listeners.births.notify,
    onStaleBirth: warnOfEpoch(logger, nowMs),
    onUnannounced: listeners.unannouncedReports.notify,
    onSample: listeners.samples.notify,
    onLateSamples: listeners.lateSamples.notify,
  })
  stack.defer(() => {
    for (const cell of fleet.cells()) cell.link?.close()
  })
  schedules.every('fleet.sweep', SWEEP_SECONDS, () => fleet.sweep())
  return {
    fleet,
    fleetListeners: listeners,
    router,
    standstill,
    views: { fleet, routing: { router, nowMs } },
  }
}

const newListeners = (): FleetListeners => ({
  presenceChanges: new Listeners(),
  routingChanges: new Listeners(),
  removals: new Listeners(),
  births: new Listeners(),
  unannouncedReports: new Listeners(),
  samples: new Listeners(),
  lateSamples: new Listeners(),
})

const warnOfEpoch = (logger: Pick<Logger, 'warn'>, nowMs: () => number): ((cell: Cell) => void) =>
  throttleById(EPOCH_WARNING_MS, nowMs, ({ id, staleEpoch, epoch }: Cell) => {
    logger.warn(
      { cell: id, epoch: staleEpoch, highest: epoch },
      'the cell has an older epoch than before and is ignored; if it was restored, release it',
    )
  })
