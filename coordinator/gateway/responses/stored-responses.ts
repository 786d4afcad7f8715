import { sql, type Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { storedResponseTable } from './stored-response.table.ts'

const KEPT_DAYS = 30
/** Limit of a response, which is stored with its whole conversation. */
const MAX_BYTES = 1024 * 1024
const DELETED_AT_ONCE = 200

/** Limits of the responses stored for a key; the oldest are deleted first. */
interface KeptLimits {
  responses: number
  bytes: number
}

const PER_KEY: KeptLimits = { responses: 1000, bytes: 128 * 1024 * 1024 }

type Stored = EntityOf<typeof storedResponseTable>

/** Owner of stored responses: the requesting key, in the tenant that it acted for. */
export type ResponseOwner = Pick<Stored, 'keyId' | 'tenantId'>

export type StoredResponse = Pick<Stored, 'input' | 'response'>

interface StoredResponsesParts {
  ledger: Pick<Ledger, 'read' | 'free'>
  perKey?: KeptLimits
  /** Unix time, milliseconds. */
  now: () => number
}

/** Responses that clients asked to keep, for thirty days or until they are deleted. */
export class StoredResponses {
  readonly #parts: StoredResponsesParts

  constructor(parts: StoredResponsesParts) {
    this.#parts = parts
  }

  /** Returns a response of its owner; undefined for one of another key, and after its end. */
  async find(id: string, owner: ResponseOwner): Promise<StoredResponse | undefined> {
    const { ledger, now } = this.#parts
    const row = await ledger.read
      .selectFrom('stored_responses')
      .select(['input_json', 'response_json'])
      .where('id', '=', id)
      .where('key_id', '=', owner.keyId)
      .where('tenant_id', '=', owner.tenantId)
      .where('expires_at', '>', now())
      .executeTakeFirst()
    return row && storedResponseTable.readSome(row)
  }

  /**
   * Rejects a conversation that is too long to be stored, and an id that exists already, which only a
   * faulty cell causes.
   */
  async add({ input, response }: StoredResponse, owner: ResponseOwner): Promise<void> {
    const { ledger, now, perKey = PER_KEY } = this.#parts
    const at = now()
    const row = storedResponseTable.write({
      ...owner,
      id: response.id,
      createdAt: at,
      expiresAt: at + KEPT_DAYS * DAY_MS,
      input,
      response,
    })
    if (Buffer.byteLength(row.input_json) + Buffer.byteLength(row.response_json) > MAX_BYTES)
      throw new ShoalError('payload_too_large', `it has more than ${MAX_BYTES} bytes`)
    await ledger.free.write(async trx => {
      await trx.insertInto('stored_responses').values(row).execute()
      await deleteSurplus(trx, owner.keyId, perKey)
    })
  }

  /** False when there is none. */
  async remove(id: string, owner: ResponseOwner): Promise<boolean> {
    const removed = await this.#parts.ledger.free.write(trx =>
      trx
        .deleteFrom('stored_responses')
        .where('id', '=', id)
        .where('key_id', '=', owner.keyId)
        .where('tenant_id', '=', owner.tenantId)
        .returning('id')
        .execute(),
    )
    return removed.length > 0
  }
}

type Trx = Transaction<LedgerTables>

/** Length of the two texts, which neither engine has to read to know it. */
const storedBytes = sql<number>`octet_length(input_json) + octet_length(response_json)`

/** Deletes the oldest responses of a key beyond its limits; the newest one always stays. */
const deleteSurplus = async (trx: Trx, keyId: string, limits: KeptLimits): Promise<void> => {
  const newestFirst = sql`order by created_at desc, id desc`
  const ranked = trx
    .selectFrom('stored_responses')
    .select('id')
    .select(sql<number>`row_number() over (${newestFirst})`.as('place'))
    .select(sql<number>`sum(${storedBytes}) over (${newestFirst})`.as('bytes'))
    .where('key_id', '=', keyId)
    .as('ranked')
  const surplus = trx
    .selectFrom(ranked)
    .select('id')
    .where('place', '>', 1)
    .where(({ eb, or }) => or([eb('place', '>', limits.responses), eb('bytes', '>', limits.bytes)]))
  await trx.deleteFrom('stored_responses').where('id', 'in', surplus).execute()
}

/** Deletes responses whose time is over, and those of keys that have ended for good. */
export const deleteEnded = async (ledger: Pick<Ledger, 'free'>, nowMs: number): Promise<void> => {
  // some at a time, so that no transaction is long
  while ((await ledger.free.write(trx => deleteSome(trx, nowMs))) === DELETED_AT_ONCE);
}

/** Number of responses that were deleted. */
const deleteSome = async (trx: Trx, nowMs: number): Promise<number> => {
  const endedKeys = trx
    .selectFrom('keys')
    .select('keys.id')
    .where(({ eb, or }) =>
      or([eb('revoked_at', 'is not', null), eb('keys.expires_at', '<=', nowMs)]),
    )
  const rows = await trx
    .selectFrom('stored_responses')
    .select('id')
    .where(({ eb, or }) => or([eb('expires_at', '<=', nowMs), eb('key_id', 'in', endedKeys)]))
    .limit(DELETED_AT_ONCE)
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await trx.deleteFrom('stored_responses').where('id', 'in', ids).execute()
  return rows.length
}
