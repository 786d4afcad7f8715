import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Store } from '../../kernel/store/store.ts'
import { operatorPeerTable, type Peer } from './operator-peer.table.ts'
import { type Handshake, handshakeOf, readHolders, readPeer, requireHolding } from './peer.ts'

/** The requester and the operator role that it claims. */
export interface PeerAsker {
  caller: Caller
  role: string
  agentId: string
}

interface PeerParts {
  store: Pick<Store, 'ledger'>
  /** Lifetime of a claim, milliseconds. */
  holdMs: number
  addEvents: Events['addWithin']
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

/**
 * Stand-ins for operator roles: one holder for each role of a tenant. Holding a role identifies an
 * operator and grants no rights; those are the key's.
 */
export class Peers {
  readonly #parts: PeerParts

  constructor(parts: PeerParts) {
    this.#parts = parts
  }

  /** Renews the claim of the same key and agent. Throws `conflict` that names another holder. */
  async claim(asker: PeerAsker, terminalLabel: string | undefined): Promise<Peer> {
    const { store, now, runtime } = this.#parts
    const { tenantId } = asker.caller
    requireRole(asker)
    return store.ledger.sealed.write(async trx => {
      const at = now()
      const holder = (await readHolders(trx, tenantId, at)).find(({ role }) => role === asker.role)
      const claim = { asker, terminalLabel, at, expiresAt: at + this.#parts.holdMs }
      const isNew = holder === undefined
      const peer = isNew ? await addPeer(trx, claim, runtime) : await renewPeer(trx, holder, claim)
      await this.#report(trx, isNew ? 'claimed' : 'renewed', peer, tenantId)
      return peer
    })
  }

  async release(asker: PeerAsker, id: string): Promise<Peer> {
    const { store, now } = this.#parts
    const { tenantId } = asker.caller
    return store.ledger.sealed.write(async trx => {
      const at = now()
      const own = await ownPeer(trx, asker, id)
      requireHolding(own, at)
      await change(trx, id, { endedAt: at })
      await note(trx, asker, own, { action: 'peer.release', at })
      const peer = await readPeer(trx, id, tenantId)
      await this.#report(trx, 'released', peer, tenantId)
      return peer
    })
  }

  /** The handshake is `mutual` once each peer has named the other. */
  async handshake(asker: PeerAsker, id: string, otherId: string): Promise<[Peer, Handshake]> {
    const { store, now } = this.#parts
    const { tenantId } = asker.caller
    requireRole(asker)
    if (id === otherId)
      throw new ShoalError('invalid_request', 'a peer cannot complete a handshake with itself', {
        param: 'peer_session_id',
      })
    return store.ledger.sealed.write(async (trx): Promise<[Peer, Handshake]> => {
      const at = now()
      const own = await ownPeer(trx, asker, id)
      const other = await readPeer(trx, otherId, tenantId)
      for (const each of [own, other]) requireHolding(each, at)
      await trx
        .insertInto('peer_handshakes')
        .values({ peer_id: id, other_id: otherId, at })
        .onConflict(conflict => conflict.doNothing())
        .execute()
      const state = await handshakeOf(trx, id, otherId)
      const details = { peer: otherId, peer_role: other.role, state }
      await note(trx, asker, own, { action: 'peer.handshake', at, details })
      await this.#report(trx, 'handshake', own, tenantId)
      return [own, state]
    })
  }

  /** Returns the current holders of roles. */
  holders(tenantId: string): Promise<Peer[]> {
    return readHolders(this.#parts.store.ledger.read, tenantId, this.#parts.now())
  }

  #report(
    trx: Trx,
    event: string,
    { id, role, agentId, fence }: Peer,
    tenantId: string,
  ): Promise<void> {
    const data = { tenant_id: tenantId, role, agent_id: agentId, fence }
    return this.#parts.addEvents(trx, [{ type: `shoal.peer.${event}`, data, subject: id }])
  }
}

interface RoleClaim {
  asker: PeerAsker
  terminalLabel: string | undefined
  at: number
  expiresAt: number
}

const addPeer = async (
  trx: Trx,
  { asker, terminalLabel, at, expiresAt }: RoleClaim,
  { ids }: Pick<Runtime, 'ids'>,
): Promise<Peer> => {
  const { caller, role, agentId } = asker
  const { tenantId, person } = caller
  const claimed: Peer = {
    id: ids.create('peer', at),
    tenantId,
    role,
    personId: person.personId,
    keyId: person.keyId,
    agentId,
    terminalLabel,
    fence: await nextSequence(trx, `peer-fence:${tenantId}:${role}`),
    claimedAt: at,
    expiresAt,
    endedAt: undefined,
  }
  await forgetOld(trx, tenantId, role)
  await trx.insertInto('operator_peers').values(operatorPeerTable.write(claimed)).execute()
  const peer = await readPeer(trx, claimed.id, tenantId)
  await note(trx, asker, peer, { action: 'peer.claim', at })
  return peer
}

/** Throws `conflict` when another holder has the role. */
const renewPeer = async (trx: Trx, holder: Peer, claim: RoleClaim): Promise<Peer> => {
  const { asker, terminalLabel, at, expiresAt } = claim
  const { caller, agentId } = asker
  if (holder.keyId !== caller.person.keyId || holder.agentId !== agentId)
    throw createRoleHeldError(holder)
  const label = terminalLabel === undefined ? {} : { terminalLabel }
  await change(trx, holder.id, { expiresAt, ...label })
  await note(trx, asker, holder, { action: 'peer.renew', at })
  return readPeer(trx, holder.id, caller.tenantId)
}

/** Throws `forbidden` unless the key has the role. */
const requireRole = ({ caller, role }: PeerAsker): void => {
  if (caller.person.roles.includes(role)) return
  throw new ShoalError('forbidden', `this needs a key with the role ${role}`, {
    reason: 'role_required',
  })
}

/** Throws `not_found` for a peer of another person, `conflict` for another role or agent. */
const ownPeer = async (trx: Trx, asker: PeerAsker, id: string): Promise<Peer> => {
  const { caller, role, agentId } = asker
  const peer = await readPeer(trx, id, caller.tenantId)
  if (peer.personId !== caller.person.personId) throw createUnknownError('peer session', id)
  if (peer.role === role && peer.agentId === agentId) return peer
  throw new ShoalError('conflict', `peer session ${id} is ${peer.role} as ${peer.agentId}`)
}

const createRoleHeldError = ({
  role,
  agentId,
  personId,
  terminalLabel,
  expiresAt,
}: Peer): ShoalError => {
  const at = terminalLabel === undefined ? '' : ` at ${terminalLabel}`
  const until = new Date(expiresAt).toISOString()
  return new ShoalError(
    'conflict',
    `${role} is held by ${agentId} of ${personId}${at}, until ${until} unless it is renewed`,
  )
}

/** Number of newest claims kept per role; older ones are deleted. */
const KEPT = 100

const forgetOld = async (trx: Trx, tenantId: string, role: string): Promise<void> => {
  const old = await trx
    .selectFrom('operator_peers')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('role', '=', role)
    .orderBy('fence', 'desc')
    .offset(KEPT)
    .limit(100)
    .execute()
  if (old.length === 0) return
  const ids = old.map(({ id }) => id)
  for (const side of ['peer_id', 'other_id'] as const)
    await trx.deleteFrom('peer_handshakes').where(side, 'in', ids).execute()
  await trx.deleteFrom('operator_peers').where('id', 'in', ids).execute()
}

const change = async (trx: Trx, id: string, fields: Partial<Peer>): Promise<void> => {
  const set = operatorPeerTable.writeSome(fields)
  await trx.updateTable('operator_peers').set(set).where('id', '=', id).execute()
}

const note = async (
  trx: Trx,
  { caller, role, agentId }: PeerAsker,
  { id, fence }: Peer,
  { action, at, details }: { action: string; at: number; details?: Record<string, unknown> },
): Promise<void> => {
  await appendAudit(trx, {
    ...caller.by,
    at,
    tenant: caller.tenantId,
    action,
    subject: id,
    outcome: 'done',
    details: { role, agent: agentId, person: caller.person.personId, fence, ...details },
  })
}
