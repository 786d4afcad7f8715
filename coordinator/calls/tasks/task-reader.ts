import { type RawBuilder, sql } from 'kysely'

/**
 * Reader of tasks. A task is visible to the key that created it, to every key of the same person,
 * and to callers that may call the operation of the task, unless every key may call it; never to
 * another tenant.
 */
export interface TaskReader {
  tenantId: string
  /** Id of the caller's key; undefined for a caller without one. */
  keyId: string | undefined
  personId: string | undefined
  /**
   * Operations that the reader may call now and that return the same to everyone who may call them.
   */
  operationIds: readonly string[]
}

/** True when the reader may see a task, given its requester and operation. */
export const seesAsked = (
  { keyId, personId, operationIds }: TaskReader,
  asked: {
    keyId?: string | undefined
    personId?: string | undefined
    operationId?: string | undefined
  },
): boolean =>
  asked.keyId === keyId ||
  (asked.personId !== undefined && asked.personId === personId) ||
  (asked.operationId !== undefined && operationIds.includes(asked.operationId))

/** Condition on a row of `a2a_tasks`: this reader may see the task. */
export const isSeenBy = ({ keyId, personId, operationIds }: TaskReader): RawBuilder<boolean> =>
  sql`exists (
    select 1 from task_runs left join keys on keys.id = task_runs.key_id
    where task_runs.task_id = a2a_tasks.id and (
      task_runs.key_id is not distinct from ${keyId ?? null}
      or keys.person_id = ${personId ?? null}
      or ${operationIds.length === 0 ? sql`1 = 0` : sql`task_runs.operation_id in (${sql.join(operationIds)})`}
    ))`
