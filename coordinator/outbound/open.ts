import { networkInterfaces } from 'node:os'
import type { Outbound } from './outbound-config.ts'
import { createSender, type Sender, type SenderParts } from './sender.ts'

export interface OutboundParts {
  config: { outbound: Outbound }
  figures: { queue: { sent: NonNullable<SenderParts['ended']> } }
}

/** Requests to addresses that users gave. */
export const openOutbound = ({ config, figures }: OutboundParts): { sender: Sender } => ({
  sender: createSender({
    config: config.outbound,
    own: ownAddresses,
    ended: figures.queue.sent,
  }),
})

/** Addresses of this machine. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
