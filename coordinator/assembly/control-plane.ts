import type { Logger } from 'pino'
import type { Announce } from '../../shared/wire/announce.ts'
import type { AuditHead } from '../../shared/wire/audit-head.ts'
import { createInbox } from '../broker/inbox.ts'
import { openBus } from '../broker/open-bus.ts'
import type { CoordinatorConfig } from '../config.ts'
import { createControl } from '../control/control.ts'
import { createAdmission } from '../enrolment/admission.ts'
import { type CellSettingsStore, createCellSettings } from '../enrolment/cell-settings.ts'
import { type Cells, createCells } from '../enrolment/cells.ts'
import { createEpochs } from '../enrolment/epochs.ts'
import type { Events } from '../events/bus.ts'
import { placesLeft } from '../fleet/cell.ts'
import { createClones } from '../fleet/clones.ts'
import { Fleet } from '../fleet/fleet.ts'
import { createLanes } from '../fleet/lane.ts'
import { createMonitor } from '../fleet/monitor.ts'
import { type Owner, Router } from '../fleet/router.ts'
import { createTrails } from '../fleet/trails.ts'
import { WaitQueue } from '../fleet/wait-queue.ts'
import type { Caller } from '../http/cell-caller.ts'
import type { BrokerFigures } from '../metrics/broker-figures.ts'
import { createFleetIdentity } from '../signing/fleet-identity.ts'
import type { Signing } from '../signing/signing.ts'
import type { Store } from '../store/store.ts'

export interface ControlPlaneParts {
  config: CoordinatorConfig
  store: Store
  signing: Signing
  events: Events
  /** Fingerprint of the authority that cells pin; undefined on plain loopback. */
  fingerprint: () => string | undefined
  figures: BrokerFigures
  /** A cell has shown the head of our audit that it has kept. */
  witnessed?: (head: AuditHead, cellId: string) => void
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Times a second that silent cells are looked for. */
const SWEEPS_PER_SECOND = 4

/**
 * Everything the coordinator knows of its cells and says to them: who is enrolled, who is there,
 * what they measure, what they are to do. It listens nowhere by itself.
 */
export const openControlPlane = async (parts: ControlPlaneParts) => {
  const { config, store, signing, events, fingerprint, figures, logger, now, nowMs } = parts
  const cells = createCells({ store, logger })
  const settings = createCellSettings(store)
  const monitor = await createMonitor({
    records: store.records,
    logger,
    cells: () => fleet.cells(),
    quarantined: () => admission.quarantined(),
    now,
    nowMs,
    publish: events.publish,
  })

  const router = new Router(Math.random, nowMs)
  const trails = createTrails(nowMs)
  const queue = new WaitQueue({
    limits: {
      length: config.routing.queue_length,
      maxWaitMs: config.routing.queue_max_wait_seconds * 1000,
      restartMs: config.routing.queue_restart_seconds * 1000,
    },
    router,
    nowMs,
  })
  const lanes = createLanes({ router, queue, trails, nowMs })

  const fleet = new Fleet({
    router,
    routed: ({ engines }) => {
      for (const engine of engines.values()) queue.offer(engine, placesLeft(engine))
    },
    limits: {
      suspectAfterMs: config.presence.suspect_after_seconds * 1000,
      deadAfterMs: config.presence.dead_after_seconds * 1000,
    },
    nowMs,
    changed: (cell, from) => {
      logger.info({ cell: cell.id, from, to: cell.presence }, 'cell changed')
      events.publish(`shoal.cell.${cell.presence}`, { from }, cell.id)
      monitor.changed(cell, from)
    },
    forgotten: monitor.forgotten,
    setBack: ({ id }) => warnOfEpoch(id),
    unannounced: cellId => askForBirth(cellId),
    sampled: monitor.sampled,
    late: monitor.late,
  })
  const enrolled = await cells.list()
  for (const cell of enrolled)
    if ((cell.revokedAt ?? cell.quarantinedAt) === undefined) fleet.admit(cell.id, cell.epoch)
  await applySettings(settings, fleet, router)

  const drop = (cellId: string): void => {
    fleet.forget(cellId)
    bus.disconnect(cellId)
  }
  const clones = createClones(nowMs)
  const admission = createAdmission({
    cells,
    enrolled,
    fleet,
    clones,
    drop,
    signing,
    events,
    logger,
  })
  const authenticate = async (
    cellId: string,
    credential: string,
    caller?: Caller,
  ): Promise<boolean> => (await admission.authenticate(cellId, credential, caller)) !== undefined

  const epochs = createEpochs({ noteEpoch: cells.noteEpoch, logger })
  const born = (cellId: string, epoch: number, announce: Announce): void => {
    identity.greeted(cellId, announce.coordinator_key)
    if (announce.audit_head !== undefined) parts.witnessed?.(announce.audit_head, cellId)
    epochs.note(cellId, epoch)
  }
  const control = await createControl({
    store,
    signer: signing,
    cells,
    fleet,
    publish: (name, cellId, body, id) => bus.publish(name, cellId, name, body, id),
    now,
    logger,
  })
  const { heard, dropped } = figures
  const opened = await openBus(config, {
    logger,
    nowMs,
    // whoever says CONNECT has come through the upgrade, and was judged there
    authenticate: (cellId, credential) => authenticate(cellId, credential),
    epoch: Math.floor(now() / 1000),
    seen: cellId => fleet.seen(cellId),
    receive: heard(createInbox({ fleet, logger, born, control: control.hears, dropped })),
    takeover: (cellId, from) => {
      logger.warn({ cell: cellId, ...from }, 'cell connected twice')
      events.publish('shoal.cell.takeover', from, cellId)
    },
  })
  const bus = figures.watch(opened)
  const askForBirth = atMostEvery(BIRTH_QUESTION_MS, nowMs, cellId => {
    bus
      .publish('rebirth', cellId, 'rebirth', {})
      .catch(error => logger.warn({ err: error, cell: cellId }, 'birth not asked for'))
  })
  const warnOfEpoch = atMostEvery(EPOCH_WARNING_MS, nowMs, cellId => {
    const { staleEpoch, epoch } = fleet.cell(cellId) ?? {}
    logger.warn(
      { cell: cellId, epoch: staleEpoch, highest: epoch },
      'the cell has an older epoch than before and is not heard; if it was restored, release it',
    )
  })
  const identity = createFleetIdentity({ signing, store, bus, fleet, fingerprint, logger })

  const release: Cells['release'] = async (cellId, by) => {
    const cell = await admission.release(cellId, by)
    await applySettings(settings, fleet, router)
    return cell
  }
  const setDrained: CellSettingsStore['setDrained'] = async (cellId, drained, by) => {
    const changed = await settings.setDrained(cellId, drained, by)
    fleet.drain(cellId, drained)
    return changed
  }

  const setOwner: CellSettingsStore['setOwner'] = async (cellId, owner, by) => {
    const changed = await settings.setOwner(cellId, owner, by)
    await applySettings(settings, fleet, router)
    return changed
  }

  const stopWatching = cells.onChange(() => {
    admission
      .dropEnded()
      .then(() => applySettings(settings, fleet, router))
      .catch(error => logger.error({ err: error }, 'changes of cells could not be read'))
  })
  const sweeper = setInterval(() => fleet.sweep(), 1000 / SWEEPS_PER_SECOND)
  const ticker = setInterval(() => {
    monitor.tick()
    control.commands.sweep()
  }, 1000)

  /** Ends every connection of every cell and keeps what is not on the disk yet. */
  const close = async (): Promise<void> => {
    clearInterval(sweeper)
    clearInterval(ticker)
    stopWatching()
    queue.close()
    for (const cell of fleet.cells()) cell.link?.close()
    await bus.close()
    await control.commands.close()
    await monitor.close()
    await epochs.flush()
    cells.close()
  }

  return {
    fleet,
    lanes,
    routing: { router, queue, nowMs },
    bus,
    admission,
    authenticate,
    monitor,
    control,
    identity,
    cells: { ...cells, revoke: admission.revoke, release },
    settings: { ...settings, setDrained, setOwner },
    close,
  }
}

export type ControlPlane = Awaited<ReturnType<typeof openControlPlane>>

/** A birth that was lost or did not fit is asked for again, not with every sample. */
const BIRTH_QUESTION_MS = 10_000
const EPOCH_WARNING_MS = 60_000

const atMostEvery = (
  everyMs: number,
  nowMs: () => number,
  run: (cellId: string) => void,
): ((cellId: string) => void) => {
  const ranAt = new Map<string, number>()
  return cellId => {
    const last = ranAt.get(cellId) ?? Number.NEGATIVE_INFINITY
    if (nowMs() - last < everyMs) return
    ranAt.set(cellId, nowMs())
    run(cellId)
  }
}

/** What operators decided of cells, at the start and when another process changed it. */
const applySettings = async (
  settings: CellSettingsStore,
  fleet: Fleet,
  router: Router,
): Promise<void> => {
  const own = await settings.list()
  for (const cell of fleet.cells()) fleet.drain(cell.id, own.get(cell.id)?.drainedAt !== undefined)
  const owners = new Map<string, Owner>()
  for (const [cellId, { owner }] of own) if (owner !== undefined) owners.set(cellId, owner)
  router.assign(owners)
}
