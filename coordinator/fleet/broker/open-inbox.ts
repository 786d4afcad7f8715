import { waitBy } from '../../../shared/runtime.ts'
import type { GuardedAudit } from '../../kernel/audit/open.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { ControlReceiver } from '../control/control.ts'
import type { Epochs } from '../enrolment/epochs.ts'
import type { FleetIdentity } from '../enrolment/fleet-identity.ts'
import { createWitnesses } from './audit-witnesses.ts'
import type { Bus, BusParts } from './bus.ts'
import { createInbox, type InboxParts } from './inbox.ts'
import type { OpenBroker } from './open.ts'
import type { DeviceReceiver, EstopReceiver, FindingsReceiver } from './receivers.ts'
import { ReplicaNotices } from './replica-notices.ts'

interface InboxDomainParts extends Pick<Base, 'stack' | 'logger' | 'runtime'> {
  arrivals: OpenBroker['arrivals']
  busEnd: OpenBroker['busEnd']
  bus: Pick<Bus, 'publish'>
  fleet: Fleet
  identity: Pick<FleetIdentity, 'checkPinnedKey'>
  audit: Pick<GuardedAudit, 'compareHead' | 'onHead'>
  epochs: Pick<Epochs, 'note'>
  controlReceiver: ControlReceiver
  deviceReceiver: DeviceReceiver
  findingsReceiver: FindingsReceiver
  estopReceiver: EstopReceiver
  replicas: Pick<Replicas, 'id' | 'live' | 'onChange'>
  metrics: {
    broker: {
      countReceived(receive: BusParts['receive']): BusParts['receive']
      countDropped: NonNullable<InboxParts['onDropped']>
    }
  }
}

/**
 * Receives the messages of cells, and sends them each new head of the audit log and the coordinators
 * that live.
 */
export const openInbox = (parts: InboxDomainParts): object => {
  const { arrivals, bus, fleet, identity, audit, epochs, replicas } = parts
  const { controlReceiver, deviceReceiver, findingsReceiver, estopReceiver } = parts
  const { metrics, stack, logger } = parts
  const { countReceived, countDropped } = metrics.broker
  stack.use(parts.busEnd.move())
  const notices = stack.use(
    new ReplicaNotices({ bus, fleet, replicas, wait: waitBy(parts.runtime), logger }),
  )
  stack.defer(replicas.onChange(() => void notices.tellAll()))
  const onBirth: InboxParts['onBirth'] = (cellId, epoch, announce) => {
    identity.checkPinnedKey(cellId, announce.coordinator_key)
    if (announce.audit_head !== undefined) audit.compareHead(announce.audit_head, cellId)
    epochs.note(cellId, epoch)
    notices.tell(cellId)
  }
  arrivals.listen(
    countReceived(
      createInbox({
        fleet,
        logger,
        onBirth,
        control: controlReceiver,
        devices: deviceReceiver,
        findings: findingsReceiver,
        estops: estopReceiver,
        onDropped: countDropped,
      }),
    ),
  )
  stack.defer(audit.onHead(createWitnesses({ bus, fleet, logger })))
  return {}
}
