import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { readDue, readMailed } from './due.ts'
import { type Mail, postMail } from './mailbox.ts'
import type { TaskOwner } from './task-owner.ts'

interface LookingParts {
  ledger: Ledger
  owner: TaskOwner
  logger: Pick<Logger, 'warn'>
  now: () => number
}

/**
 * Posts mail that is due for tasks whose owner is gone or whose gate request was decided, and
 * delivers all mail that no other live process is responsible for.
 */
export const lookForMail = async (parts: LookingParts): Promise<void> => {
  const { ledger, owner, logger, now } = parts
  await postDue(parts)
  const failed: { task: string; error: unknown }[] = []
  // each task on its own: one that cannot continue now is retried later and does not block others
  for (const task of await readMailed(ledger.read, { id: owner.worker, now: now() }))
    await owner.deliver(task).catch(error => failed.push({ task, error }))
  const [first] = failed
  if (first === undefined || owner.turns.isClosing) return
  const facts = { err: first.error, task: first.task, failed: failed.length }
  logger.warn(facts, 'tasks could not be resumed')
}

const postDue = async ({ ledger, owner, now }: LookingParts): Promise<void> => {
  const find = async (db: Kysely<LedgerTables>, at: number): Promise<Mail[]> => {
    const due = await readDue(db, { id: owner.worker, now: at })
    return due.filter(({ taskId }) => owner.turns.get(taskId) === undefined)
  }
  if ((await find(ledger.read, now())).length === 0) return
  await ledger.sealed.write(async trx => {
    const at = await ledger.nowMs(trx)
    for (const mail of await find(trx, at)) await postMail(trx, mail, at)
  })
}
