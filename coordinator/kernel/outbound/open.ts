import { networkInterfaces } from 'node:os'
import type { Base } from '../base/base.ts'
import type { Replicas } from '../replicas/replicas.ts'
import { shareOf } from '../replicas/share.ts'
import type { Outbound } from './outbound-config.ts'
import { createSender, type Sender, type SenderParts } from './sender.ts'

interface OutboundParts extends Pick<Base, 'runtime'> {
  config: { outbound: Outbound }
  replicas: Pick<Replicas, 'live'>
  metrics: { queue: { countRequest: NonNullable<SenderParts['onOutcome']> } }
}

/** Requests to addresses that users gave. */
export const openOutbound = ({
  config,
  replicas,
  metrics,
  runtime,
}: OutboundParts): { sender: Sender } => ({
  sender: createSender({
    config: config.outbound,
    ownAddresses,
    shareOf: limit => shareOf(limit, replicas),
    runtime,
    onOutcome: metrics.queue.countRequest,
  }),
})

/** Addresses of this machine. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
