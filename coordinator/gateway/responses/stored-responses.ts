import { ShoalError } from '../../../shared/errors.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { ModelResponse } from '../../../shared/wire/response.ts'
import type { InputItem } from '../../../shared/wire/responses.ts'
import type { StoredResponseRow } from '../../kernel/store/response-tables.ts'
import type { Ledger } from '../../kernel/store/store.ts'

const KEPT_DAYS = 30
/** Newest responses of a key; older ones give way. */
const MAX_PER_KEY = 1000
/** Each response is stored with its whole conversation, so that a long one takes its length many times. */
const MAX_CHARS = 1024 * 1024
const DELETED_AT_ONCE = 200

/** Owner of stored responses: the requesting key, in the tenant that it acted for. */
export interface ResponseOwner {
  keyId: string
  tenantId: string
}

export interface StoredResponse {
  /** Items of the whole conversation up to the response. */
  input: InputItem[]
  response: ModelResponse
}

interface StoredResponsesParts {
  ledger: Pick<Ledger, 'read' | 'free'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Responses that clients asked to keep, for thirty days or until they are deleted. */
export class StoredResponses {
  readonly #parts: StoredResponsesParts

  constructor(parts: StoredResponsesParts) {
    this.#parts = parts
  }

  /** Undefined for a response of another key, and after its end. */
  async find(id: string, owner: ResponseOwner): Promise<StoredResponse | undefined> {
    const { ledger, now } = this.#parts
    const row = await ledger.read
      .selectFrom('stored_responses')
      .selectAll()
      .where('id', '=', id)
      .where('key_id', '=', owner.keyId)
      .where('tenant_id', '=', owner.tenantId)
      .where('expires_at', '>', now())
      .executeTakeFirst()
    return row && toResponse(row)
  }

  /**
   * Rejects a conversation that is too long to be stored, and an id that exists already, which only a
   * cell that is not sound brings about.
   */
  async add({ input, response }: StoredResponse, owner: ResponseOwner): Promise<void> {
    const { ledger, now } = this.#parts
    const at = now()
    const input_json = JSON.stringify(input)
    const response_json = JSON.stringify(response)
    if (input_json.length + response_json.length > MAX_CHARS)
      throw new ShoalError('payload_too_large', `it has more than ${MAX_CHARS} characters`)
    await ledger.free.write(async trx => {
      await trx
        .insertInto('stored_responses')
        .values({
          id: response.id,
          key_id: owner.keyId,
          tenant_id: owner.tenantId,
          created_at: at,
          expires_at: at + KEPT_DAYS * DAY_MS,
          input_json,
          response_json,
        })
        .execute()
      const surplus = await trx
        .selectFrom('stored_responses')
        .select('id')
        .where('key_id', '=', owner.keyId)
        .orderBy('created_at', 'desc')
        .limit(DELETED_AT_ONCE)
        .offset(MAX_PER_KEY)
        .execute()
      if (surplus.length === 0) return
      const ids = surplus.map(({ id }) => id)
      await trx.deleteFrom('stored_responses').where('id', 'in', ids).execute()
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

const toResponse = ({ input_json, response_json }: StoredResponseRow): StoredResponse => ({
  input: JSON.parse(input_json),
  response: JSON.parse(response_json),
})

/** Deletes responses whose time is over, some at a time. */
export const deleteExpired = (ledger: Pick<Ledger, 'free'>, nowMs: number): Promise<unknown> =>
  ledger.free.write(async trx => {
    const rows = await trx
      .selectFrom('stored_responses')
      .select('id')
      .where('expires_at', '<=', nowMs)
      .limit(DELETED_AT_ONCE)
      .execute()
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    await trx.deleteFrom('stored_responses').where('id', 'in', ids).execute()
  })
