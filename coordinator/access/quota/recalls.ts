import { type Runtime, sleep } from '../../../shared/runtime.ts'
import type { Ledger } from '../../kernel/store/store.ts'

/** Requests of a process that has used up a month for what the others have leased of it. */
export interface LeaseRecalls {
  /** Time that is worth waiting for returns, milliseconds. */
  patienceMs(): number
  /** Asks for the leases of a subject; resolves when it is worth looking at the ledger again. */
  recall(subject: string): Promise<void>
  /** Returns the subjects that some process asks for now. */
  list(): Promise<readonly string[]>
}

/** Recalls of a process that is alone. */
export const NO_RECALLS: LeaseRecalls = {
  patienceMs: () => 0,
  recall: async () => {},
  list: async () => [],
}

const PATIENCE_MS = 2000
const LOOK_AGAIN_MS = 100

interface RecallParts {
  ledger: Pick<Ledger, 'free' | 'read' | 'nowMs'>
  /** Number of processes that lease from the ledger. */
  countReplicas: () => number
  runtime: Pick<Runtime, 'setTimeout'>
}

/** Recalls by rows of the ledger. */
export const createRecalls = ({ ledger, countReplicas, runtime }: RecallParts): LeaseRecalls => ({
  patienceMs: () => (countReplicas() > 1 ? PATIENCE_MS : 0),
  recall: async subject => {
    await ledger.free.write(async trx => {
      const at = await ledger.nowMs(trx)
      await trx
        .insertInto('quota_recalls')
        .values({ subject, at })
        .onConflict(conflict => conflict.column('subject').doUpdateSet({ at }))
        .execute()
    })
    await sleep(runtime, LOOK_AGAIN_MS)
  },
  list: async () => {
    const rows = await ledger.read.selectFrom('quota_recalls').select('subject').execute()
    return rows.map(({ subject }) => subject)
  },
})

/** Deletes the recalls that nobody waits for any more. */
export const deleteOldRecalls = async ({
  free,
  nowMs,
}: Pick<Ledger, 'free' | 'nowMs'>): Promise<void> => {
  await free.write(async trx => {
    const before = (await nowMs(trx)) - PATIENCE_MS
    await trx.deleteFrom('quota_recalls').where('at', '<', before).execute()
  })
}
