import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { EventDraft, Events } from '../../kernel/events/bus.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Trx } from './asking.ts'
import { type PolicyFacts, policyTable, type StoredPolicy } from './policy.table.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Newest policy that superseded the configured one; undefined if none ever did. */
export const newestPolicy = async (db: Reader): Promise<StoredPolicy | undefined> => {
  const row = await selectNewest(db).executeTakeFirst()
  return row && policyTable.read(row)
}

/** Reads the newest policy without its document, which this version may be unable to parse. */
export const newestFacts = async (db: Reader): Promise<PolicyFacts | undefined> => {
  const row = await selectNewest(db).executeTakeFirst()
  return row && toFacts(row)
}

const selectNewest = (db: Reader) =>
  db.selectFrom('policies').selectAll().orderBy('number', 'desc').limit(1)

const toFacts = ({ document_json: _, ...row }: RowOf<typeof policyTable>): PolicyFacts =>
  policyTable.readSome(row)

/** Number of the policy in force; 0 while it is the configured one. */
export const newestNumber = async (db: Reader): Promise<number> => {
  const newest = db.selectFrom('policies').select('number').orderBy('number', 'desc').limit(1)
  return (await newest.executeTakeFirst())?.number ?? 0
}

/** Reads policies, newest first. */
export const readPolicies = async (
  db: Reader,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<PolicyFacts[]> => {
  const query = db.selectFrom('policies').selectAll().orderBy('number', 'desc').limit(limit)
  const rows = before === undefined ? query : query.where('number', '<', before)
  return (await rows.execute()).map(toFacts)
}

export const findPolicy = async (db: Reader, number: number): Promise<StoredPolicy | undefined> => {
  const query = db.selectFrom('policies').selectAll().where('number', '=', number)
  const row = await query.executeTakeFirst()
  return row && policyTable.read(row)
}

export interface NewPolicy extends Omit<StoredPolicy, 'number' | 'replacedHash'> {
  /** Number and hash of the policy to be replaced. */
  replaces: { number: number; hash: string }
}

/** Reports the policy too. Throws `conflict` when the one that it replaces is no longer in force. */
export const putPolicy = async (
  trx: Trx,
  { replaces, ...wanted }: NewPolicy,
  by: Actor,
  addEvents: Events['addWithin'],
): Promise<StoredPolicy> => {
  const newest = await newestFacts(trx)
  const isStill = (newest?.number ?? 0) === replaces.number
  if (!isStill || (newest?.hash ?? replaces.hash) !== replaces.hash)
    throw new ShoalError(
      'conflict',
      `policy ${replaces.number} is no longer in force; request the change again`,
    )
  const number = await nextSequence(trx, 'policies')
  const policy: StoredPolicy = { ...wanted, number, replacedHash: replaces.hash }
  await trx.insertInto('policies').values(policyTable.write(policy)).execute()
  await bumpRevision(trx, 'policies')
  await appendAudit(trx, { ...by, ...recordOf(policy), at: policy.changedAt })
  await addEvents(trx, [changeEventOf(policy)])
  return policy
}

const changeEventOf = (policy: PolicyFacts): EventDraft => {
  const { number, version, hash } = policy
  const data = { number, version, hash, source: policySourceOf(policy) }
  return { type: 'shoal.policy.changed', data, subject: `policy-${number}` }
}

/** Origin of the policy in force. */
export const policySourceOf = ({ requestId }: PolicyFacts): 'accepted' | 'approved' =>
  requestId === undefined ? 'accepted' : 'approved'

const recordOf = ({ number, version, hash, replacedHash, requestId, reason }: PolicyFacts) => ({
  action: 'policy.change',
  subject: `policy-${number}`,
  outcome: 'done' as const,
  details: {
    number,
    version,
    hash,
    replaced_hash: replacedHash,
    request_id: requestId ?? null,
    reason,
  },
})
