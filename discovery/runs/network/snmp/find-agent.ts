import { readSystem, type SystemGroup } from './read-system.ts'
import { SnmpSession } from './session.ts'
import type { SnmpCredentials, SnmpUser } from './snmp-config.ts'

/** An agent that answered. Its session, if credentials were accepted, is closed by the caller. */
interface FoundAgent {
  engineId: string | null
  access: { version: '2c' | '3'; session: SnmpSession; system: SystemGroup } | undefined
  hasDefaultCommunity: boolean | null
}

/** Communities that agents are shipped with. */
const DEFAULT_COMMUNITIES = ['public', 'private']

/** Asks for the engine without a valid user: the refusal names it (RFC 3414, 4). */
const NOBODY: SnmpUser = {
  name: '',
  auth_protocol: 'none',
  priv_protocol: 'none',
  authKey: undefined,
  privKey: undefined,
}

interface Target {
  address: string
  signal: AbortSignal
}

/**
 * Asks one address: for its engine, and with the credentials that the operator configured. Users of
 * version 3 come first; secret communities are only sent when no user is configured or accepted.
 */
export const findAgent = async (
  { address, signal }: Target,
  { communities, users, port }: SnmpCredentials,
): Promise<FoundAgent | undefined> => {
  const target = { address, port, signal }
  const isFirst = (community: string) =>
    users.length === 0 || DEFAULT_COMMUNITIES.includes(community)
  const tryAll = (some: readonly string[]) =>
    Promise.all(some.map(each => tryCommunity(target, each)))
  const [engineId, ...first] = await Promise.all([
    findEngine(target),
    ...communities.filter(isFirst).map(each => tryCommunity(target, each)),
  ])
  const byUser = engineId === null ? undefined : await tryUsers(target, users)
  const isEnough = byUser !== undefined || first.some(each => each.access !== undefined)
  const rest = isEnough ? [] : await tryAll(communities.filter(each => !isFirst(each)))
  const tried = [...first, ...rest]
  const access = byUser ?? tried.find(each => each.access !== undefined)?.access
  for (const each of tried) if (each.access !== access) each.access?.session[Symbol.dispose]()
  if (engineId === null && access === undefined) return undefined
  return { engineId, access, hasDefaultCommunity: hasDefault(tried) }
}

const findEngine = async (target: Target & { port: number }): Promise<string | null> => {
  using session = SnmpSession.openUser(target, NOBODY)
  await session.get(['1.3.6.1.2.1.1.2.0'])
  return session.engineId ?? null
}

interface TriedCommunity {
  community: string
  access: FoundAgent['access']
}

const tryCommunity = async (
  target: Target & { port: number },
  community: string,
): Promise<TriedCommunity> => {
  const session = SnmpSession.openCommunity(target, community)
  const system = await readSystem(session)
  if (system !== undefined) return { community, access: { version: '2c', session, system } }
  session[Symbol.dispose]()
  return { community, access: undefined }
}

const tryUsers = async (
  target: Target & { port: number },
  users: readonly SnmpUser[],
): Promise<FoundAgent['access']> => {
  for (const user of users) {
    const session = SnmpSession.openUser(target, user)
    const system = await readSystem(session)
    if (system !== undefined) return { version: '3', session, system }
    session[Symbol.dispose]()
  }
  return undefined
}

/** Null when no default community was tried. */
const hasDefault = (tried: readonly TriedCommunity[]): boolean | null => {
  const defaults = tried.filter(({ community }) => DEFAULT_COMMUNITIES.includes(community))
  return defaults.length === 0 ? null : defaults.some(({ access }) => access !== undefined)
}
