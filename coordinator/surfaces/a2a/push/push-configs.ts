import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../../shared/errors.ts'
import { randomId } from '../../../../shared/ids.ts'
import { a2aPushConfigTable } from '../../../calls/tasks/a2a-push-config.table.ts'
import { FORM, OWNER } from '../../../calls/tasks/task-rows.ts'
import type { TaskWebhook } from '../../../calls/tasks/task-webhook.ts'
import type { Sender } from '../../../kernel/outbound/sender.ts'
import type { SecretSealer } from '../../../kernel/signing/sealing.ts'
import type { Ledger, SealedTrx } from '../../../kernel/store/store.ts'
import type { LedgerTables } from '../../../kernel/store/tables.ts'
import type { Version } from '../call.ts'

const MAX_CONFIGS_PER_TASK = 10
const MAX_TEXT = 4096

/** Webhooks of task clients. Returned webhooks never contain a whole secret. */
export interface PushConfigs {
  /** Throws `invalid_request` for an address that is not sent to, and for one webhook too many. */
  save(
    tenantId: string,
    webhook: TaskWebhook,
    version: Version,
    /** Id of the key that creates it. */
    keyId: string,
  ): Promise<TaskWebhook>
  list(taskId: string, tenantId: string): Promise<TaskWebhook[]>
  remove(taskId: string, tenantId: string, configId: string): Promise<void>
  /** Webhooks of a task with their secrets. */
  listWithSecrets(taskId: string, tenantId: string): Promise<TaskWebhook[]>
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
  const seal = (webhook: TaskWebhook) =>
    withSecrets(webhook, secret => sealing.seal(secret, placeOf(webhook)))
  const open = (webhook: TaskWebhook) =>
    withSecrets(webhook, secret => sealing.open(secret, placeOf(webhook)))
  const listWithSecrets: PushConfigs['listWithSecrets'] = async (taskId, tenantId) =>
    (await readWebhooks(ledger.read, taskId, tenantId)).map(({ webhook }) => open(webhook))

  const save: PushConfigs['save'] = async (tenantId, given, version, keyId) => {
    requireShort(given)
    sender.judge(given.url)
    const webhook = { ...given, id: given.id || randomId() }
    await ledger.sealed.write(async trx => {
      const all = await readWebhooks(trx, webhook.taskId, tenantId)
      if (all.filter(each => each.webhook.id !== webhook.id).length >= MAX_CONFIGS_PER_TASK)
        throw new ShoalError(
          'invalid_request',
          `a task has at most ${MAX_CONFIGS_PER_TASK} configs`,
        )
      await saveWebhook(trx, tenantId, seal(webhook), version, keyId)
    })
    return withSecrets(webhook, maskSecret)
  }

  return {
    save,
    list: async (taskId, tenantId) =>
      (await listWithSecrets(taskId, tenantId)).map(webhook => withSecrets(webhook, maskSecret)),
    remove: (taskId, tenantId, configId) =>
      ledger.free.write(async trx => {
        await trx
          .deleteFrom('a2a_push_configs')
          .where('tenant', '=', tenantId)
          .where('owner', '=', OWNER)
          .where('task_id', '=', taskId)
          .where('config_id', '=', configId)
          .execute()
      }),
    listWithSecrets,
    hooksOf: async (trx, taskId, tenantId) =>
      (await readWebhooks(trx, taskId, tenantId)).map(({ webhook: { id }, version }) => ({
        id,
        version,
      })),
  }
}

/** Identity to which a sealed secret is bound: a copy of its row elsewhere cannot be opened. */
const placeOf = ({ taskId, id }: TaskWebhook): string => `push:${taskId}/${id}`

/** Webhooks of a task as they are stored, each with its protocol version. */
const readWebhooks = async (
  db: Kysely<LedgerTables>,
  taskId: string,
  tenantId: string,
): Promise<{ webhook: TaskWebhook; version: string }[]> => {
  const rows = await db
    .selectFrom('a2a_push_configs')
    .selectAll()
    .where('tenant', '=', tenantId)
    .where('owner', '=', OWNER)
    .where('task_id', '=', taskId)
    .execute()
  return rows.map(row => {
    const { configId: id, configData } = a2aPushConfigTable.read(row)
    const { wireVersion: version, ...facts } = configData
    return { webhook: { id, taskId, ...facts }, version }
  })
}

const saveWebhook = async (
  trx: SealedTrx,
  tenant: string,
  { id: configId, taskId, ...facts }: TaskWebhook,
  wireVersion: Version,
  keyId: string,
): Promise<void> => {
  const row = a2aPushConfigTable.write({
    tenant,
    owner: OWNER,
    taskId,
    configId,
    configData: { ...facts, wireVersion },
    protocolVersion: FORM,
    keyId,
  })
  const { config_data, protocol_version, key_id } = row
  await trx
    .insertInto('a2a_push_configs')
    .values(row)
    .onConflict(clause =>
      clause
        .columns(['tenant', 'owner', 'task_id', 'config_id'])
        .doUpdateSet({ config_data, protocol_version, key_id }),
    )
    .execute()
}

/** A webhook with its secrets changed; the empty ones are left out. */
const withSecrets = (webhook: TaskWebhook, change: (secret: string) => string): TaskWebhook => {
  const { token, authentication } = webhook
  const credentials = authentication?.credentials
  return {
    ...webhook,
    token: token ? change(token) : undefined,
    authentication: authentication && {
      ...authentication,
      credentials: credentials ? change(credentials) : undefined,
    },
  }
}

/** Returns the end of a secret, to tell two apart; only asterisks for a short one. */
const maskSecret = (secret: string): string =>
  secret.length < 16 ? '***' : `***${secret.slice(-4)}`

/** Throws unless the fields, which become headers, are short and cannot start another header. */
const requireShort = ({ id, url, token = '', authentication }: TaskWebhook): void => {
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
