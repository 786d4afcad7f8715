import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import { type AgentEvidence, agentEvidenceTable } from './agent-evidence.table.ts'
import type { AgentSession } from './session.ts'
import type { Reader } from './session-rows.ts'

/** Evidence of an agent for its work. */
export type Evidence = Pick<AgentEvidence, 'summary' | 'items'>

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
  { at, runtime }: { at: number; runtime: Pick<Runtime, 'ids'> },
): Promise<Record<string, unknown>> => {
  await requireRoom(trx, id)
  const scopes = claims.map(({ scope }) => scope)
  const kept = { id: runtime.ids.create('evidence', at), sessionId: id, at, summary, items, scopes }
  await trx.insertInto('agent_evidence').values(agentEvidenceTable.write(kept)).execute()
  const sha256 = hash('sha256', canonicalJson({ summary, items }))
  return { evidence: kept.id, items: items.length, scopes, sha256 }
}

/** Evidence of one session, oldest first. */
export const readEvidence = async (db: Reader, sessionId: string): Promise<AgentEvidence[]> => {
  const rows = await db
    .selectFrom('agent_evidence')
    .selectAll()
    .where('session_id', '=', sessionId)
    .orderBy('id')
    .execute()
  return rows.map(agentEvidenceTable.read)
}

const requireRoom = async (trx: Trx, sessionId: string): Promise<void> => {
  const kept = await countMatchingRows(
    trx.selectFrom('agent_evidence').where('session_id', '=', sessionId),
  )
  if (kept >= MAX_ROUNDS)
    throw new ShoalError('conflict', `session ${sessionId} has evidence of ${kept} rounds; undock`)
}
