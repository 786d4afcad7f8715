import { hash, X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { type Link, listLinks } from '../../../shared/mdns/links.ts'
import { VERSION } from '../../../shared/version.ts'
import type { Base } from '../base/base.ts'
import { isLoopback } from '../base/is-loopback.ts'
import { type PublishedLink, Publisher } from './publisher.ts'
import type { Announcement } from './service-records.ts'

interface PublishParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'runtime'> {
  config: PublishConfig
  /** Address of the listener. */
  url: string
  shown: PresentedCertificate | undefined
}

interface PublishConfig {
  name: string
  state_dir: string
  replica: { name?: string | undefined }
  http: { publish: boolean; host: string }
}

/** Certificate of the listener. */
interface PresentedCertificate {
  cert: string
  /** Fingerprint of the authority that cells pin; undefined for a certificate of the operator. */
  fingerprint?: string | undefined
}

/** Interval in which the interfaces are looked at again. */
const LINKS_SECONDS = 30

/**
 * Announces `_shoal._tcp` on the interfaces that the coordinator listens on, so that machines can
 * find it when they join. Never on loopback. A port that cannot be shared costs the announcement,
 * not the coordinator.
 */
export const publishCoordinator = async (parts: PublishParts): Promise<object> => {
  const { config, shown, stack, schedules, logger, runtime } = parts
  if (!config.http.publish || isLoopback(config.http.host) || shown === undefined) return {}
  const announcement = createAnnouncement(parts, shown)
  let publisher: Publisher | undefined
  let published = ''
  const publish = async (): Promise<void> => {
    const links = listPublishedLinks(config.http.host, listLinks())
    const wanted = JSON.stringify(links)
    if (wanted === published) return
    await publisher?.[Symbol.asyncDispose]()
    publisher = undefined
    published = wanted
    if (links.length === 0) return
    publisher = await Publisher.start(announcement, links, runtime, instance =>
      logger.info({ instance, interfaces: links.map(({ name }) => name) }, 'announced by mDNS'),
    ).catch(error => {
      logger.warn({ err: error }, 'not announced by mDNS: UDP port 5353 cannot be shared')
      return undefined
    })
  }
  await publish()
  stack.defer(() => publisher?.[Symbol.asyncDispose]())
  schedules.every('publish.links', LINKS_SECONDS, publish)
  return {}
}

const createAnnouncement = (
  { config, url }: PublishParts,
  { cert, fingerprint }: PresentedCertificate,
): Announcement => ({
  nodeId: createNodeId(config),
  port: Number(new URL(url).port || 443),
  txt: {
    txtvers: '1',
    version: VERSION,
    name: (config.replica.name ?? config.name).slice(0, 64),
    fp: fingerprint ?? hash('sha256', new X509Certificate(cert).raw, 'base64url'),
  },
})

/** The same after each start, and different for each coordinator of a network. */
const createNodeId = ({ name, state_dir }: PublishConfig): string =>
  `shoal-${hash('sha256', `${name}\n${resolve(state_dir)}`).slice(0, 12)}`

/** Links that the listener accepts connections on, with the addresses at which it does. */
export const listPublishedLinks = (host: string, links: readonly Link[]): PublishedLink[] =>
  links
    .filter(({ isLoopback: isInner }) => !isInner)
    .map(link => ({ ...link, announced: link.addresses.filter(each => listensOn(host, each)) }))
    .filter(({ announced }) => announced.length > 0)

/** Link-local addresses are left out: the certificate is not valid for them. */
const listensOn = (host: string, address: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, '')
  if (ipaddr.parse(address).range() === 'linkLocal') return false
  if (bare === '::') return true
  if (bare === '0.0.0.0') return !address.includes(':')
  return ipaddr.isValid(bare) && ipaddr.parse(bare).toString() === ipaddr.parse(address).toString()
}
