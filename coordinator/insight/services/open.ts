import type { AddressInfo } from 'node:net'
import type { Trx } from '../../access/gates/asking.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Outbound } from '../../kernel/outbound/outbound-config.ts'
import { createSender, type Sender } from '../../kernel/outbound/sender.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import { ChatServers } from './chat-servers.ts'
import { ownUrlOf } from './own-url.ts'
import { type Ask, createAsk } from './probe.ts'
import { createNoticeJobs, createNoticeKind } from './service-notice.ts'
import { createRepairKind, type RepairPlan, SERVICE_REPAIR } from './service-repair.ts'
import { Services } from './services.ts'
import {
  type ChatServersConfig,
  listAddresses,
  type NoticesConfig,
  type ServicesConfig,
} from './services-config.ts'

/** Services and chat servers of the configuration. */
export interface ServiceViews {
  services: Services
  chatServers: ChatServers
  repairs: {
    /** Queues a repair in the transaction that uses its approval; call `wake` after the commit. */
    addWithin(trx: Trx, plan: RepairPlan, tenantId: string): Promise<string>
    /** Queues a notice at each configured place; returns the ids of the jobs. */
    notify(notice: { text: string; about: string; tenantId: string }): Promise<string[]>
    wake(): void
  }
  /** Asks an address of the configuration by GET. */
  askAddress: Ask
}

interface ServiceDomainParts extends Pick<Base, 'nowMs' | 'runtime'> {
  config: {
    services: ServicesConfig
    notices: NoticesConfig
    chat_servers: ChatServersConfig
    outbound: Outbound
    http: { host: string }
  }
  shown?: object | undefined
  app: { server: { address(): AddressInfo | string | null } }
  work: Pick<OpenQueue, 'queue' | 'addKind'>
}

export const openServices = (parts: ServiceDomainParts): { views: ServiceViews } => {
  const { config, app, shown, work, nowMs } = parts
  const { queue } = work
  const ownUrl = (): string | undefined => {
    const address = app.server.address()
    // with a certificate, its name is that of a public address
    return address === null || typeof address === 'string' || shown !== undefined
      ? undefined
      : ownUrlOf(config.http.host, address.port)
  }
  const outbound = (): Outbound => ({
    ...config.outbound,
    allow: [...config.outbound.allow, ...[...listAddresses(config), ownUrl()].flatMap(targetOf)],
    allow_http: true,
    // a deep check of Keycloak asks three addresses for each of up to 16 realms at once
    target_concurrency: 64,
  })
  // made again once this coordinator listens, because its own address is known only then
  let made: { own: string | undefined; sender: Sender } | undefined
  const send: Sender['send'] = (message, signal) => {
    const own = ownUrl()
    if (made === undefined || made.own !== own)
      made = { own, sender: createSender({ config: outbound(), runtime: parts.runtime }) }
    return made.sender.send(message, signal)
  }
  const ask = createAsk({ send }, nowMs)
  const services = new Services({ config: config.services, ownUrl, ask })
  work.addKind(createRepairKind({ services, sender: { send } }))
  work.addKind(createNoticeKind({ config: config.notices, sender: { send } }))
  return {
    views: {
      services,
      chatServers: new ChatServers({ config: config.chat_servers, ask }),
      repairs: {
        addWithin: async (trx, plan, tenantId) =>
          (await queue.addWithin(trx, { kind: SERVICE_REPAIR, payload: plan, tenantId })).id,
        notify: async notice => {
          const jobs = createNoticeJobs(config.notices, notice).map(job => queue.add(job))
          return (await Promise.all(jobs)).map(({ id }) => id)
        },
        wake: queue.wake,
      },
      askAddress: ask,
    },
  }
}

/** Address as the list of allowed targets has it. */
const targetOf = (address: string | undefined): string[] => {
  if (address === undefined) return []
  const { hostname, port, protocol } = new URL(address)
  return [`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
}
