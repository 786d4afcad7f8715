import type { EstopBody } from '../../../shared/wire/estop.ts'
import type { Observation } from '../../fleet/alerts/alert-rules.ts'
import type { EstopReceiver } from '../../fleet/broker/receivers.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { FleetListeners } from '../../fleet/cells/open.ts'
import type { Cells } from '../../fleet/enrolment/cells.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Devices } from '../inventory/devices.ts'
import { Estops } from './estops.ts'
import { observeEstops } from './observe.ts'
import { EstopReports } from './reports.ts'
import { EstopSender } from './sender.ts'
import { forgetReleased } from './stop-rows.ts'
import { Stops } from './stops.ts'
import { StopTakeOver } from './take-over.ts'
import { StopWriter } from './writer.ts'

/** Operations on the e-stops of the fleet. */
export interface EstopViews {
  estops: Pick<Estops, 'engage' | 'release' | 'list' | 'listFailed' | 'listHeld' | 'findCovering'>
}

interface EstopDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { audit: { retention_days: number } }
  store: Pick<Store, 'ledger' | 'revisions'>
  events: Pick<Events, 'addWithin'>
  signing: SigningKey
  cells: Pick<Cells, 'readPublicKeys'>
  devices: Pick<Devices, 'get'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  fleetListeners: Pick<FleetListeners, 'births' | 'removals'>
  alertSources: Set<() => Iterable<Observation>>
  bus: {
    publishToEach(
      name: 'estop',
      cellIds: readonly string[],
      type: string,
      body: EstopBody,
    ): Promise<void>[]
  }
}

interface OpenEstop {
  estopReceiver: EstopReceiver
  /** The stops, for parts that refuse what a stop forbids. */
  stops: Pick<Stops, 'findCovering'>
  views: EstopViews
}

const SWEEP_SECONDS = 1
const FORGET_SECONDS = 3600
const DAY_MS = 86_400_000

export const openEstop = async (parts: EstopDomainParts): Promise<OpenEstop> => {
  const { store, fleet, devices, signing, bus, stack, schedules, logger, now, runtime } = parts
  const { ledger } = store
  const stops = await Stops.open({ store, now, runtime, logger })
  stack.defer(() => stops.close())
  const readKeys = (ids: readonly string[]) => parts.cells.readPublicKeys(ids)
  const reports = new EstopReports({ ledger, readKeys, now, logger })
  await reports.load()
  const sender = new EstopSender({
    stops,
    reports,
    fleet,
    signer: signing,
    publish: (cellIds, document) => bus.publishToEach('estop', cellIds, 'estop', document),
    now,
    nowMs: parts.nowMs,
    logger,
  })
  const writer = new StopWriter({ ledger, events: parts.events, now, logger })
  const takeOver = new StopTakeOver({ stops, writer, nowMs: parts.nowMs, logger })
  const own = { stops, reports, sender, writer, fleet, devices, now, runtime, logger }
  const estops = new Estops(own)

  reports.received.add(received => takeOver.note(received))
  stops.changes.add(() => void sender.sendMissing())
  parts.fleetListeners.births.add(({ id }) => void sender.answerBirth(id))
  parts.fleetListeners.removals.add(cellId => reports.forget(cellId))
  parts.alertSources.add(() => observeEstops({ stops, reports, sender, fleet }))
  schedules.every('estop.sweep', SWEEP_SECONDS, async () => {
    await estops.sweep()
    await takeOver.run()
  })
  schedules.every('estop.reports', SWEEP_SECONDS, () => reports.flush())
  const keepMs = parts.config.audit.retention_days * DAY_MS
  parts.leaderWork.every('estop.forget', FORGET_SECONDS, leaders =>
    forgetReleased(leaders, now() - keepMs),
  )
  return {
    stops,
    estopReceiver: {
      onReport: (cellId, body) =>
        void reports.receive(cellId, body).catch(error => {
          const reason = (error as Error).message.slice(0, 300)
          logger.warn({ cell: cellId, reason }, 'e-stop report dropped')
        }),
    },
    views: { estops },
  }
}
