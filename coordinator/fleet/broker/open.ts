import { throttleById } from '../../kernel/base/at-most-every.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Secrets } from '../../kernel/secrets/secrets.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { FleetListeners } from '../cells/open.ts'
import type { CellAdmission } from '../enrolment/admission.ts'
import type { BrokerConfig } from './broker-config.ts'
import type { Bus, BusParts } from './bus.ts'
import { openBus } from './open-bus.ts'

type Receive = BusParts['receive']

/** Messages of cells, queued in order until a listener is set. */
class Arrivals {
  readonly #listener = Promise.withResolvers<Receive>()
  #receive: Receive = (...message) => this.#listener.promise.then(receive => receive(...message))

  receive: Receive = (...message) => this.#receive(...message)

  /** Sends every message to the listener, starting with the buffered ones. */
  listen(listener: Receive): void {
    this.#receive = listener
    this.#listener.resolve(listener)
  }
}

interface BrokerParts extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs'> {
  config: { broker: BrokerConfig }
  store: Pick<Store, 'isShared'>
  replicas: Pick<Replicas, 'id'>
  secrets: Pick<Secrets, 'ensure'>
  fleet: Pick<Fleet, 'touch'>
  fleetListeners: Pick<FleetListeners, 'unannouncedReports'>
  admission: Pick<CellAdmission, 'authenticate'>
  onDropped(listener: (cellId: string) => void): () => void
  events: Pick<Events, 'publish'>
  metrics: { broker: { watch(bus: Bus): Bus } }
}

export interface OpenBroker {
  bus: Bus
  arrivals: Arrivals
  /** Closes the bus; the inbox takes it over, so that all is heard before anything is settled. */
  busEnd: AsyncDisposableStack
}

/** A birth that was lost or did not fit is asked for again, not with every sample. */
const BIRTH_QUESTION_MS = 10_000

export const openBroker = async (parts: BrokerParts): Promise<OpenBroker> => {
  const { config, secrets, fleet, admission, events, metrics, stack } = parts
  const { logger, now, nowMs } = parts
  const arrivals = new Arrivals()
  const opened = await openBus(config, secrets, {
    logger,
    ...(parts.store.isShared && { replicaId: parts.replicas.id }),
    nowMs,
    // the upgrade has admitted the connection; CONNECT repeats the credential
    authenticate: async (cellId, credential) =>
      (await admission.authenticate(cellId, credential)) !== undefined,
    epoch: Math.floor(now() / 1000),
    onActivity: cellId => fleet.touch(cellId),
    receive: arrivals.receive,
    onTakeover: (cellId, from) => {
      logger.warn({ cell: cellId, ...from }, 'cell connected twice')
      events.publish('shoal.cell.takeover', from, cellId)
    },
  })
  const busEnd = stack.use(new AsyncDisposableStack())
  busEnd.defer(opened.close)
  const bus = metrics.broker.watch(opened)

  parts.onDropped(bus.disconnect)
  const askForBirth = throttleById(BIRTH_QUESTION_MS, nowMs, ({ id }) => {
    bus
      .publish('rebirth', id, 'rebirth', {})
      .catch(error => logger.warn({ err: error, cell: id }, 'request for the birth not sent'))
  })
  parts.fleetListeners.unannouncedReports.add(id => askForBirth({ id }))
  return { bus, arrivals, busEnd }
}
