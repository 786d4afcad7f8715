import { browseServices } from '../../discovery/runs/network/mdns/browse.ts'
import type { FoundService } from '../../discovery/runs/network/mdns/services.ts'
import { ShoalError } from '../../shared/errors.ts'
import { parseJoinToken } from '../../shared/join-token.ts'
import { listLinks } from '../../shared/mdns/links.ts'
import { cleanText } from '../../shared/mdns/txt.ts'
import { fetchAuthority } from '../pin.ts'
import type { CommandContext } from './command.ts'

/** Time in which coordinators may answer. */
const BROWSE_MS = 3000

/** Announcements with the right fingerprint that are tried, and the time for each. */
const MAX_TRIED = 8
const TRY_SECONDS = 5

/** A coordinator that announces itself. Nothing of it is trusted. */
interface AnnouncedCoordinator {
  name: string
  url: string
  /** Fingerprint of its authority, as in join tokens. */
  fingerprint: string
}

/**
 * Looks for the coordinator that made the token, lists what was found and asks for confirmation.
 * An announcement only gives an address: a coordinator is chosen if its TLS handshake presents the
 * authority whose fingerprint is in the token, and enrolment accepts no other one. A token without a fingerprint is refused.
 * @throws ShoalError not_found, forbidden or wrong_usage
 */
export const discoverCoordinator = async (
  { write, confirm, signal }: CommandContext,
  token: string,
  isConfirmed: boolean,
): Promise<string> => {
  const fingerprint = parseJoinToken(token)?.fingerprint
  if (fingerprint === undefined)
    throw new ShoalError(
      'wrong_usage',
      '--discover needs a token with a fingerprint; for this token, give the address of the coordinator',
    )
  const found = await findCoordinators(signal)
  if (found.length === 0)
    throw new ShoalError(
      'not_found',
      'no coordinator announces itself on the networks of this machine; give its address instead',
    )
  write(describeFound(found))
  const chosen = await findAuthentic(found, fingerprint, signal)
  if (chosen === undefined)
    throw new ShoalError(
      'forbidden',
      'none of these coordinators made this token; give the address of the right one',
    )
  if (!isConfirmed && !(await askOperator(confirm, chosen)))
    throw new ShoalError('wrong_usage', 'not joined: confirm the coordinator, or add --yes')
  return chosen.url
}

const findCoordinators = async (signal: AbortSignal): Promise<AnnouncedCoordinator[]> => {
  const links = listLinks().filter(({ isLoopback }) => !isLoopback)
  const found = new Map<string, AnnouncedCoordinator>()
  const services = browseServices({
    links,
    // an operator asked for it: the questions go to the group and carry no secret
    isAskable: () => true,
    types: ['_shoal._tcp'],
    timeoutMs: BROWSE_MS,
    signal,
  })
  for await (const service of services) {
    const coordinator = readCoordinator(service)
    if (coordinator !== undefined && !service.isGone) found.set(coordinator.url, coordinator)
  }
  return [...found.values()]
}

/** Reads an announcement; undefined for one that lacks the address, the port or the fingerprint. */
const readCoordinator = ({
  instance,
  addresses,
  port,
  txt,
}: FoundService): AnnouncedCoordinator | undefined => {
  const address = addresses.find(each => !each.includes(':')) ?? addresses[0]
  const fingerprint = txt.get('fp') ?? ''
  if (address === undefined || !port || !/^[\w-]{43}$/.test(fingerprint)) return undefined
  const host = address.includes(':') ? `[${address}]` : address
  const name = cleanText(txt.get('name') ?? instance).slice(0, 64)
  return { name, url: `https://${host}:${port}`, fingerprint }
}

/** The first one that presents the authority of the token; a copied announcement does not. */
const findAuthentic = async (
  found: readonly AnnouncedCoordinator[],
  fingerprint: string,
  signal: AbortSignal,
): Promise<AnnouncedCoordinator | undefined> => {
  const claiming = found.filter(each => each.fingerprint === fingerprint).slice(0, MAX_TRIED)
  for (const each of claiming) {
    const access = { url: each.url, timeoutSeconds: TRY_SECONDS, signal }
    const authority = await fetchAuthority(access, fingerprint).catch(() => undefined)
    signal.throwIfAborted()
    if (authority !== undefined) return each
  }
  return undefined
}

const describeFound = (found: readonly AnnouncedCoordinator[]): string =>
  found.map(({ name, url, fingerprint }) => `${name}  ${url}  key ${fingerprint}\n`).join('')

const askOperator = async (
  confirm: CommandContext['confirm'],
  { name, url }: AnnouncedCoordinator,
): Promise<boolean> => (await confirm?.(`Join ${name} at ${url}? [y/N] `)) ?? false
