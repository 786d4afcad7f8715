import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { appendAudit } from '../audit/audit.ts'
import type { Events } from '../events/bus.ts'
import type { Caller, Trx } from '../gates/asking.ts'
import type { OperatorPeerRow } from '../store/agent-tables.ts'
import { nextSequence } from '../store/sequences.ts'
import type { Store } from '../store/store.ts'
import {
  type Handshake,
  handshakeOf,
  type Peer,
  readHolders,
  readPeer,
  requireHolding,
} from './peer.ts'

/** Who asks, and what they call themselves. */
export interface PeerAsker {
  caller: Caller
  role: string
  agentId: string
}

/**
 * Who stands in for which operator role: one holder for each role of a tenant. It tells operators
 * apart and gives no rights; those are the key's.
 */
export interface Peers {
  /** The same key and agent again hold it for longer. Throws `conflict` that names another holder. */
  claim(asker: PeerAsker, terminalLabel: string | undefined): Promise<Peer>
  release(asker: PeerAsker, id: string): Promise<Peer>
  /** `mutual` once each has named the other. */
  handshake(asker: PeerAsker, id: string, otherId: string): Promise<[Peer, Handshake]>
  /** Who holds a role now. */
  holders(tenantId: string): Promise<Peer[]>
}

export interface PeerParts {
  store: Pick<Store, 'ledger'>
  /** How long a claim is good. */
  holdMs: number
  publish: Events['publish']
  now: () => number
}

export const createPeers = ({ store, holdMs, publish, now }: PeerParts): Peers => {
  const { ledger } = store

  const tell = (event: string, { id, role, agentId, fence }: Peer, tenantId: string): void =>
    void publish(`shoal.peer.${event}`, { tenant_id: tenantId, role, agent_id: agentId, fence }, id)

  const claim: Peers['claim'] = async (asker, terminalLabel) => {
    const { caller, role, agentId } = asker
    const { tenantId, person } = caller
    requireRole(asker)
    const { peer, isNew } = await ledger.sealed.write(async trx => {
      const at = now()
      const holder = (await readHolders(trx, tenantId, at)).find(each => each.role === role)
      const renewed = holder?.keyId === person.keyId && holder.agentId === agentId
      if (holder !== undefined && !renewed) throw heldBy(holder)
      const expires_at = at + holdMs
      if (holder !== undefined) {
        const label = terminalLabel === undefined ? {} : { terminal_label: terminalLabel }
        await change(trx, holder.id, { expires_at, ...label })
        await note(trx, asker, holder, { action: 'peer.renew', at })
        return { peer: await readPeer(trx, holder.id, tenantId), isNew: false }
      }
      const row: OperatorPeerRow = {
        ...{ id: newId('peer', at), tenant_id: tenantId, role, expires_at, claimed_at: at },
        ...{ person_id: person.personId, key_id: person.keyId, agent_id: agentId },
        terminal_label: terminalLabel ?? null,
        fence: await nextSequence(trx, `peer-fence:${tenantId}:${role}`),
        ended_at: null,
      }
      await forgetOld(trx, tenantId, role)
      await trx.insertInto('operator_peers').values(row).execute()
      const made = await readPeer(trx, row.id, tenantId)
      await note(trx, asker, made, { action: 'peer.claim', at })
      return { peer: made, isNew: true }
    })
    tell(isNew ? 'claimed' : 'renewed', peer, tenantId)
    return peer
  }

  const release: Peers['release'] = async (asker, id) => {
    const { tenantId } = asker.caller
    const peer = await ledger.sealed.write(async trx => {
      const at = now()
      const own = await ownPeer(trx, asker, id)
      requireHolding(own, at)
      await change(trx, id, { ended_at: at })
      await note(trx, asker, own, { action: 'peer.release', at })
      return readPeer(trx, id, tenantId)
    })
    tell('released', peer, tenantId)
    return peer
  }

  const handshake: Peers['handshake'] = async (asker, id, otherId) => {
    const { tenantId } = asker.caller
    requireRole(asker)
    if (id === otherId)
      throw new ShoalError('invalid_request', 'a peer does not shake hands with itself', {
        param: 'peer_session_id',
      })
    const [peer, state] = await ledger.sealed.write(async (trx): Promise<[Peer, Handshake]> => {
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
      return [own, state]
    })
    tell('handshake', peer, tenantId)
    return [peer, state]
  }

  return {
    claim,
    release,
    handshake,
    holders: tenantId => readHolders(ledger.read, tenantId, now()),
  }
}

/** Throws `forbidden`. */
const requireRole = ({ caller, role }: PeerAsker): void => {
  if (caller.person.roles.includes(role)) return
  throw new ShoalError('forbidden', `this needs a key with the role ${role}`)
}

/** Throws `not_found` for one of somebody else, `conflict` for one of another role or agent. */
const ownPeer = async (trx: Trx, asker: PeerAsker, id: string): Promise<Peer> => {
  const { caller, role, agentId } = asker
  const peer = await readPeer(trx, id, caller.tenantId)
  if (peer.personId !== caller.person.personId)
    throw new ShoalError('not_found', `no peer session ${id}`)
  if (peer.role === role && peer.agentId === agentId) return peer
  throw new ShoalError('conflict', `peer session ${id} is ${peer.role} as ${peer.agentId}`)
}

const heldBy = ({ role, agentId, personId, terminalLabel, expiresAt }: Peer): ShoalError => {
  const at = terminalLabel === undefined ? '' : ` at ${terminalLabel}`
  const until = new Date(expiresAt).toISOString()
  return new ShoalError(
    'conflict',
    `${role} is held by ${agentId} of ${personId}${at}, until ${until} unless it is renewed`,
  )
}

/** Holdings of one role that are kept, the newest; who acts with an older one is not found. */
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

const change = async (trx: Trx, id: string, set: Partial<OperatorPeerRow>): Promise<void> => {
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
