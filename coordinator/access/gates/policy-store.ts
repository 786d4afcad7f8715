import type { Kysely } from 'kysely'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { EventDraft, Events } from '../../kernel/events/bus.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Trx } from './asking.ts'
import type { PolicyRow } from './policy.table.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Newest policy that superseded the configured one; undefined if none ever did. */
export const newestPolicy = (db: Reader): Promise<PolicyRow | undefined> =>
  db.selectFrom('policies').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirst()

/** Number of the policy in force; 0 while it is the configured one. */
export const newestNumber = async (db: Reader): Promise<number> => {
  const newest = db.selectFrom('policies').select('number').orderBy('number', 'desc').limit(1)
  return (await newest.executeTakeFirst())?.number ?? 0
}

/** Reads policies, newest first. */
export const readPolicies = (
  db: Reader,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<PolicyRow[]> => {
  const query = db.selectFrom('policies').selectAll().orderBy('number', 'desc').limit(limit)
  return (before === undefined ? query : query.where('number', '<', before)).execute()
}

export const policyRow = (db: Reader, number: number): Promise<PolicyRow | undefined> =>
  db.selectFrom('policies').selectAll().where('number', '=', number).executeTakeFirst()

export interface NewPolicy {
  version: string
  hash: string
  document: unknown
  /** Number and hash of the policy to be replaced. */
  replaces: { number: number; hash: string }
  configuredHash: string
  requestId: string | null
  changedBy: string
  changedAt: number
  reason: string
}

/** Reports the policy too. Throws `conflict` when the one that it replaces is no longer in force. */
export const putPolicy = async (
  trx: Trx,
  wanted: NewPolicy,
  by: Actor,
  addEvents: Events['addWithin'],
): Promise<PolicyRow> => {
  const newest = await newestPolicy(trx)
  const { replaces, requestId, changedAt } = wanted
  const isStill = (newest?.number ?? 0) === replaces.number
  if (!isStill || (newest?.hash ?? replaces.hash) !== replaces.hash)
    throw new ShoalError('conflict', `policy ${replaces.number} does not hold any more; ask again`)
  const row: PolicyRow = {
    number: await nextSequence(trx, 'policies'),
    version: wanted.version,
    hash: wanted.hash,
    document_json: canonicalJson(wanted.document),
    replaced_hash: replaces.hash,
    configured_hash: wanted.configuredHash,
    request_id: requestId,
    changed_by: wanted.changedBy,
    changed_at: changedAt,
    reason: wanted.reason,
  }
  await trx.insertInto('policies').values(row).execute()
  await bumpRevision(trx, 'policies')
  await appendAudit(trx, { ...by, ...recordOf(row), at: changedAt })
  await addEvents(trx, [changeEventOf(row)])
  return row
}

const changeEventOf = (row: PolicyRow): EventDraft => {
  const { number, version, hash } = row
  const data = { number, version, hash, source: policySourceOf(row) }
  return { type: 'shoal.policy.changed', data, subject: `policy-${number}` }
}

/** Origin of the policy in force. */
export const policySourceOf = ({ request_id }: PolicyRow): 'accepted' | 'approved' =>
  request_id === null ? 'accepted' : 'approved'

const recordOf = ({ number, version, hash, replaced_hash, request_id, reason }: PolicyRow) => ({
  action: 'policy.change',
  subject: `policy-${number}`,
  outcome: 'done' as const,
  details: { number, version, hash, replaced_hash, request_id, reason },
})
