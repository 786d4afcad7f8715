import { ShoalError } from '../../../shared/errors.ts'
import { isLeft, type Ownership } from '../../kernel/leases/ownership.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'

/** Error for a task that another live process is running. */
export class TaskElsewhereError extends ShoalError {
  constructor(taskId: string) {
    super('conflict', `task ${taskId} is at work in another process`)
  }
}

/** Process that takes tasks, and the clock of the store. */
export interface Owning {
  ownership: Ownership
  nowMs: Ledger['nowMs']
}

/** Takes ownership of a task. Throws `TaskElsewhereError` while another live process owns it. */
export const takeTask = async (
  trx: SealedTrx,
  taskId: string,
  { ownership: { id, keep }, nowMs }: Owning,
): Promise<void> => {
  await keep(trx)
  const taken = await trx
    .updateTable('task_runs')
    .set({ worker: id })
    .where('task_id', '=', taskId)
    .where(isLeft('worker', { id, now: await nowMs(trx) }))
    .executeTakeFirst()
  if (taken.numUpdatedRows === 0n) throw new TaskElsewhereError(taskId)
}

/** Gives up the ownership of tasks, so that other processes may take them at once. */
export const releaseTasks = async (
  { free }: Pick<Ledger, 'free'>,
  taskIds: readonly string[],
  ownerId: string,
): Promise<void> => {
  if (taskIds.length === 0) return
  await free.write(trx =>
    trx
      .updateTable('task_runs')
      .set({ worker: null })
      .where('task_id', 'in', [...taskIds])
      .where('worker', '=', ownerId)
      .execute(),
  )
}
