import type { TaskPushNotificationConfig } from '@a2a-js/sdk'
import { DatabasePushNotificationStore } from '@a2a-js/sdk/server/database'
import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../../shared/errors.ts'
import { randomId } from '../../../../shared/ids.ts'
import { OWNER, storeContext } from '../../../calls/tasks/task-rows.ts'
import type { Sender } from '../../../kernel/outbound/sender.ts'
import type { SecretSealer } from '../../../kernel/signing/sealing.ts'
import type { Ledger } from '../../../kernel/store/store.ts'
import type { LedgerTables } from '../../../kernel/store/tables.ts'
import type { Version } from '../call.ts'

const MAX_CONFIGS_PER_TASK = 10
const MAX_TEXT = 4096

/** Webhooks of task clients. Returned configurations never contain a whole secret. */
export interface PushConfigs {
  /** Throws `invalid_request` for an address that is not sent to, and for one config too many. */
  save(
    taskId: string,
    tenantId: string,
    config: TaskPushNotificationConfig,
    version: Version,
    /** Id of the key that creates it. */
    keyId: string,
  ): Promise<TaskPushNotificationConfig>
  list(taskId: string, tenantId: string): Promise<TaskPushNotificationConfig[]>
  remove(taskId: string, tenantId: string, configId: string): Promise<void>
  /** Configurations of a task with their secrets. */
  listWithSecrets(taskId: string, tenantId: string): Promise<TaskPushNotificationConfig[]>
  /** Webhooks of a task, each with its protocol version. */
  hooksOf(
    trx: Transaction<LedgerTables>,
    taskId: string,
    tenantId: string,
  ): Promise<{ id: string; version: string }[]>
}

interface PushConfigParts {
  ledger: Ledger
  sealing: SecretSealer
  sender: Pick<Sender, 'judge'>
}

export const createPushConfigs = ({ ledger, sealing, sender }: PushConfigParts): PushConfigs => {
  const loadConfigs = (taskId: string, tenantId: string) =>
    storeOn(ledger.read).load(taskId, storeContext(tenantId))
  const seal = (config: TaskPushNotificationConfig) =>
    withSecrets(config, secret => sealing.seal(secret, placeOf(config)))
  const open = (config: TaskPushNotificationConfig) =>
    withSecrets(config, secret => sealing.open(secret, placeOf(config)))

  const save: PushConfigs['save'] = async (taskId, tenantId, given, version, keyId) => {
    requireShort(given)
    sender.judge(given.url)
    const config = { ...given, taskId, tenant: tenantId, id: given.id || randomId() }
    await ledger.sealed.write(async trx => {
      const store = storeOn(trx)
      const context = storeContext(tenantId, version)
      const others = (await store.load(taskId, context)).filter(({ id }) => id !== config.id)
      if (others.length >= MAX_CONFIGS_PER_TASK)
        throw new ShoalError(
          'invalid_request',
          `a task has at most ${MAX_CONFIGS_PER_TASK} configs`,
        )
      await store.save(taskId, context, seal(config))
      await trx
        .updateTable('a2a_push_configs')
        .set({ key_id: keyId })
        .where('tenant', '=', tenantId)
        .where('task_id', '=', taskId)
        .where('config_id', '=', config.id)
        .execute()
    })
    return maskSecrets(config)
  }

  return {
    save,
    list: async (taskId, tenantId) =>
      (await loadConfigs(taskId, tenantId)).map(config => maskSecrets(open(config))),
    remove: (taskId, tenantId, configId) =>
      ledger.free.write(trx => storeOn(trx).delete(taskId, storeContext(tenantId), configId)),
    listWithSecrets: async (taskId, tenantId) => (await loadConfigs(taskId, tenantId)).map(open),
    hooksOf: async (trx, taskId, tenantId) =>
      (await storeOn(trx).loadWithMetadata(taskId, storeContext(tenantId))).map(
        ({ config, wireVersion }) => ({ id: config.id, version: wireVersion }),
      ),
  }
}

/** Identity to which a sealed secret is bound: a copy of its row elsewhere cannot be opened. */
const placeOf = ({ taskId, id }: TaskPushNotificationConfig): string => `push:${taskId}/${id}`

const storeOn = (db: Kysely<LedgerTables>): DatabasePushNotificationStore<LedgerTables> =>
  new DatabasePushNotificationStore(db, {
    tableName: 'a2a_push_configs',
    ownerResolver: () => OWNER,
  })

const withSecrets = (
  config: TaskPushNotificationConfig,
  change: (secret: string) => string,
): TaskPushNotificationConfig => {
  const { token, authentication } = config
  const credentials = authentication?.credentials
  return {
    ...config,
    token: token === '' ? '' : change(token),
    authentication: authentication && {
      ...authentication,
      credentials: credentials ? change(credentials) : '',
    },
  }
}

const maskSecrets = (config: TaskPushNotificationConfig): TaskPushNotificationConfig =>
  withSecrets(config, maskSecret)

/** Enough to tell two secrets apart, where they are long enough for that. */
const maskSecret = (secret: string): string =>
  secret.length < 16 ? '***' : `***${secret.slice(-4)}`

/** Throws unless the fields, which become headers, are short and cannot start another header. */
const requireShort = ({ id, url, token, authentication }: TaskPushNotificationConfig): void => {
  const { scheme = '', credentials = '' } = authentication ?? {}
  for (const [param, text] of Object.entries({ id, url, token, scheme, credentials })) {
    if (typeof text !== 'string')
      throw new ShoalError('invalid_request', `${param} must be a string`, { param })
    if (text.length > MAX_TEXT)
      throw new ShoalError('invalid_request', `${param} is longer than ${MAX_TEXT} characters`, {
        param,
      })
    if (/[^\x20-\x7e]/.test(text))
      throw new ShoalError(
        'invalid_request',
        `${param} must contain only visible ASCII characters`,
        { param },
      )
  }
}
