import * as z from 'zod'
import { type Link, listLinks } from '../../../shared/mdns/links.ts'
import { cleanText } from '../../../shared/mdns/txt.ts'
import { isLinkInScope } from '../../net/link-scope.ts'
import { NotPossibleHere, type ScanContext, type ScanRun } from '../../scan-run.ts'
import { browseServices } from './mdns/browse.ts'
import { readDeviceFacts } from './mdns/device-facts.ts'
import type { FoundService } from './mdns/services.ts'

export const config = z
  .strictObject({
    interfaces: z
      .array(z.string().min(1).max(32))
      .max(16)
      .exactOptional()
      .describe('Interfaces to listen on; all by default.'),
  })
  .prefault({})

const MAX_TEXT = 256
const MAX_TYPE = 64

/**
 * Listens on every link and asks only on those whose whole subnet is in the scope: a question to the
 * group reaches all hosts of the link.
 */
const runMdnsScan: ScanRun<{ timeout: number }> = async function* ({ timeout }, context) {
  const links = chooseLinks(context)
  const isAskable = (link: Link) => link.isLoopback || isLinkInScope(context.scope, link)
  warnAboutPassive(
    links.filter(link => !isAskable(link)),
    context,
  )
  const services = browseServices({
    links,
    isAskable,
    timeoutMs: timeout * 1000,
    signal: context.signal,
    onFull: () =>
      context.warn('partial_result', 'more services were announced than this scan can store'),
  })
  try {
    for await (const service of services) yield createRow(service)
  } catch (error) {
    throw isPortRefused(error)
      ? new NotPossibleHere(`UDP port 5353 cannot be shared: ${(error as Error).message}`)
      : error
  }
}
export default runMdnsScan

const chooseLinks = ({ config: section }: ScanContext): Link[] => {
  const { interfaces } = config.parse(section ?? {})
  const links = listLinks().filter(({ name }) => interfaces?.includes(name) ?? true)
  if (links.length > 0) return links
  throw new NotPossibleHere(
    interfaces === undefined
      ? 'no interface has an IPv4 address'
      : `none of the configured interfaces has an IPv4 address: ${interfaces.join(', ')}`,
  )
}

const warnAboutPassive = (passive: readonly Link[], { warn }: ScanContext): void => {
  if (passive.length === 0) return
  const names = passive.map(({ name, cidr }) => `${name} (${cidr})`).join(', ')
  warn('out_of_scope', `only listened, as the subnet is not in the scope: ${names}`.slice(0, 500))
}

const isPortRefused = (error: unknown): boolean =>
  ['EADDRINUSE', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Row of a service, with texts within the limits of the declaration. */
export const createRow = (service: FoundService) => ({
  instance: limitText(service.instance),
  type: service.type.slice(0, MAX_TYPE),
  interface: service.link.name,
  host: service.host === null ? null : limitText(service.host),
  port: service.port,
  addresses: [...service.addresses],
  ttl_s: service.ttl_s,
  txt: Object.fromEntries(service.txt),
  ...readDeviceFacts(service),
  is_gone: service.isGone,
  is_host_gone: service.isHostGone,
})

const limitText = (text: string): string => cleanText(text).slice(0, MAX_TEXT)
