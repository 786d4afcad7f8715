import { ShoalError } from '../../../../shared/errors.ts'
import { actsFor } from '../../../access/keys/key.ts'
import type { Keys } from '../../../access/keys/keys.ts'
import type { ReaderOf } from '../../../calls/tasks/task-readers.ts'
import { readSeen } from '../../../calls/tasks/task-rows.ts'
import type { Ledger } from '../../../kernel/store/store.ts'

export interface HookPlace {
  taskId: string
  tenantId: string
  configId: string
}

interface HookAccessParts {
  ledger: Ledger
  keys: Pick<Keys, 'asNow'>
  readerOf: ReaderOf
}

/**
 * True when the key that created a webhook currently sees its task: a key that was revoked, or that
 * lost its roles or its tenant, must not receive events through webhooks it created before.
 */
export const hookAccess = ({ ledger, keys, readerOf }: HookAccessParts) => {
  const makerOf = async ({ taskId, tenantId, configId }: HookPlace) => {
    const made = await ledger.read
      .selectFrom('a2a_push_configs')
      .select('key_id')
      .where('tenant', '=', tenantId)
      .where('task_id', '=', taskId)
      .where('config_id', '=', configId)
      .executeTakeFirst()
    return made?.key_id ? keys.asNow(made.key_id) : undefined
  }

  return async (hook: HookPlace): Promise<boolean> => {
    const { taskId, tenantId } = hook
    const key = await makerOf(hook)
    if (key === undefined || !actsFor(key, tenantId)) return false
    try {
      await readSeen(ledger.read, taskId, readerOf({ key, tenantId }))
      return true
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'not_found') return false
      throw error
    }
  }
}
