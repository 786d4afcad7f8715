import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { AgentSession } from './session.ts'
import type { Reader } from './session-rows.ts'

interface EvidenceItem {
  /** Kind of the item, such as `test-report` or `commit`. */
  kind: string
  text?: string
  uri?: string
  /** SHA-256 of the item, hexadecimal. */
  sha256?: string
}

/** Evidence of an agent for its work. */
export interface Evidence {
  summary: string
  items: readonly EvidenceItem[]
}

export interface KeptEvidence extends Evidence {
  id: string
  /** Unix time in milliseconds. */
  at: number
  /** Scopes that were claimed for the work. */
  scopes: readonly string[]
}

/** Maximum number of rounds with evidence kept per session. */
const MAX_ROUNDS = 100

/**
 * Stores evidence; returns its audit details, including the hash. Throws `conflict` for too much
 * evidence.
 */
export const keepEvidence = async (
  trx: Trx,
  { id, claims }: AgentSession,
  { summary, items }: Evidence,
  at: number,
): Promise<Record<string, unknown>> => {
  await requireRoom(trx, id)
  const scopes = claims.map(({ scope }) => scope)
  const row = {
    id: newId('evidence', at),
    session_id: id,
    at,
    summary,
    items_json: JSON.stringify(items),
    scopes_json: JSON.stringify(scopes),
  }
  await trx.insertInto('agent_evidence').values(row).execute()
  const sha256 = hash('sha256', canonicalJson({ summary, items }))
  return { evidence: row.id, items: items.length, scopes, sha256 }
}

/** Evidence of one session, oldest first. */
export const readEvidence = async (db: Reader, sessionId: string): Promise<KeptEvidence[]> => {
  const rows = await db
    .selectFrom('agent_evidence')
    .selectAll()
    .where('session_id', '=', sessionId)
    .orderBy('id')
    .execute()
  return rows.map(row => ({
    id: row.id,
    at: row.at,
    summary: row.summary,
    items: JSON.parse(row.items_json),
    scopes: JSON.parse(row.scopes_json),
  }))
}

const requireRoom = async (trx: Trx, sessionId: string): Promise<void> => {
  const kept = await countMatchingRows(
    trx.selectFrom('agent_evidence').where('session_id', '=', sessionId),
  )
  if (kept >= MAX_ROUNDS)
    throw new ShoalError('conflict', `session ${sessionId} has evidence of ${kept} rounds; undock`)
}
