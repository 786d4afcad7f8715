import type { Ledger } from '../../../../coordinator/kernel/store/store.ts'

/** Enrols a cell with this key, as commands need it in the store. */
export const addCell = (ledger: Ledger, id: string, publicKey: string, name = 'n'): Promise<void> =>
  ledger.sealed.write(async trx => {
    await trx
      .insertInto('join_tokens')
      .values({
        id: 't',
        digest: '',
        uses: 1,
        uses_left: 0,
        created_at: 0,
        expires_at: 0,
        revoked_at: null,
        role: 'cell',
        tags_json: '[]',
      })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    await trx
      .insertInto('cells')
      .values({
        id,
        name,
        digest: '',
        token_id: 't',
        enrolled_at: 0,
        revoked_at: null,
        epoch: 1,
        next_digest: null,
        renewed_at: 0,
        public_key: publicKey,
        tags_json: '[]',
        quarantined_at: null,
      })
      .execute()
  })
