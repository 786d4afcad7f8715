import { type KyselyPlugin, QueryNode, sql } from 'kysely'

/**
 * Who looks at tasks. A task is seen by the key that made it, by every key of the same person, and
 * by who may call the operation of the task itself, unless every key may; by nobody of another tenant.
 */
export interface TaskReader {
  tenantId: string
  /** Undefined for a caller without a key. */
  keyId: string | undefined
  personId: string | undefined
  /** What it may call now, of what answers all who may call it the same. */
  operationIds: readonly string[]
}

/** The same of one task, by who asked for what. */
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

/** Leaves in every read of `a2a_tasks` what this reader sees. */
export const seenBy = ({ keyId, personId, operationIds }: TaskReader): KyselyPlugin => {
  const isSeen = sql`exists (
    select 1 from task_runs left join keys on keys.id = task_runs.key_id
    where task_runs.task_id = a2a_tasks.id and (
      task_runs.key_id is not distinct from ${keyId ?? null}
      or keys.person_id = ${personId ?? null}
      or ${operationIds.length === 0 ? sql`1 = 0` : sql`task_runs.operation_id in (${sql.join(operationIds)})`}
    ))`.toOperationNode()
  return {
    transformQuery: ({ node }) =>
      node.kind === 'SelectQueryNode' ? QueryNode.cloneWithWhere(node, isSeen) : node,
    transformResult: async ({ result }) => result,
  }
}
