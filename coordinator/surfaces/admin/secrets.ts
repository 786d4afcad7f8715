import type { Command } from 'commander'
import { iso } from '../../../shared/time.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import { runInMaintenance } from '../../kernel/replicas/maintenance.ts'
import { discardSecrets } from '../../kernel/secrets/discard.ts'
import { addSealingKey, readSealingKeys, sealingKeyPath } from '../../kernel/secrets/key-file.ts'
import type { OpenedSecrets } from '../../kernel/secrets/open-secrets.ts'
import { rotateSealingKey } from '../../kernel/secrets/rotate.ts'
import { secretTable } from '../../kernel/secrets/secret.table.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { OnStore, RunAlone } from './on-store.ts'

interface SecretCommandParts {
  onStore: OnStore
  openSecrets: (store: Store) => Promise<OpenedSecrets>
  stateDir: () => string
  runAlone: RunAlone
}

/** Commands about the secrets that coordinators share, and the key that seals them. */
export const addSecretCommands = (group: Command, parts: SecretCommandParts): void => {
  const { onStore, openSecrets, stateDir, runAlone } = parts
  const listKeyIds = async (): Promise<string[]> => {
    const keys = await readSealingKeys(sealingKeyPath(stateDir()))
    return (keys ?? []).map(({ id }) => id)
  }
  group
    .command('list')
    .description('list the shared secrets, without their contents')
    .action(() => onStore(async store => listSecrets(store, await listKeyIds())))
  group
    .command('add-key')
    .description(
      'add a new first key to sealing.key; copy the file to every coordinator, then rotate',
    )
    .action(() =>
      onStore(async () => {
        const path = sealingKeyPath(stateDir())
        const keys = await addSealingKey(path)
        return { sealing_key: keys[0]?.id ?? '', keys: keys.length, file: path }
      }),
    )
  group
    .command('rotate')
    .description('seal the secrets with the first key of sealing.key, while coordinators serve')
    .action(() =>
      onStore(async (store, by) => {
        const entry = { ...by, action: 'secrets.rotate', subject: 'coordinator' }
        const rotation = await rotateSealingKey({
          ...(await openSecrets(store)),
          ledger: store.ledger,
          record: async (trx, details) => {
            const at = await store.ledger.nowMs(trx)
            await appendAudit(trx, { ...entry, at, outcome: 'done', details: { ...details } })
          },
        })
        return { ...rotation }
      }),
    )
  group
    .command('discard')
    .description('delete secrets whose sealing.key is lost; every coordinator must be stopped')
    .requiredOption('--reason <text>', 'how the key was lost; kept in the audit')
    .action(({ reason }: { reason: string }) =>
      runAlone(() =>
        onStore(async (store, by) => {
          const entry = { ...by, action: 'secrets.discard', subject: 'coordinator' }
          const ids = await listKeyIds()
          const discarded = await runInMaintenance(store, () =>
            discardSecrets(store.ledger, ids, async trx => {
              const at = await store.ledger.nowMs(trx)
              await appendAudit(trx, { ...entry, at, outcome: 'done', details: { reason } })
            }),
          )
          return { discarded }
        }),
      ),
    )
}

const listSecrets = async ({ ledger }: Store, keyIds: readonly string[]) => {
  const rows = await ledger.read.selectFrom('secrets').selectAll().orderBy('name').execute()
  return rows.map(secretTable.read).map(({ name, keyId, version, changedAt }) => ({
    name,
    sealing_key: keyId,
    opens_here: keyIds.includes(keyId),
    version,
    changed_at: iso(changedAt),
  }))
}
