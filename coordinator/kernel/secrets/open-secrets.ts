import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import { isStoreFolder, type Store } from '../store/store.ts'
import { createDataKeys } from './data-keys.ts'
import { createSealingKeys, readSealingKeys, sealingKeyPath } from './key-file.ts'
import { createWrongKeyError, KeyRing } from './key-ring.ts'
import { secretTable } from './secret.table.ts'
import type { SecretName } from './secrets.ts'
import { EVEN_FROZEN, SharedSecrets } from './shared-secrets.ts'
import { readSecretFiles, removeStoredFiles, requireIntact } from './takeover.ts'

interface OpenSecretsParts {
  store: Pick<Store, 'ledger' | 'isShared'>
  stateDir: string
  logger: Pick<Logger, 'info' | 'warn'>
}

export interface OpenedSecrets {
  secrets: SharedSecrets
  ring: KeyRing
}

/**
 * Returns the keys that open the secrets of a store; undefined for a store without secrets. Throws
 * `config_invalid` when the state folder has no key that does.
 */
export const openKeyRing = async ({
  store,
  stateDir,
}: Pick<OpenSecretsParts, 'store' | 'stateDir'>): Promise<KeyRing | undefined> => {
  const query = store.ledger.read.selectFrom('secrets').selectAll().where('name', '=', 'data-keys')
  const first = await query.executeTakeFirst()
  if (first === undefined) return undefined
  const path = sealingKeyPath(stateDir)
  const keys = await readSealingKeys(path)
  if (keys === undefined) throw createWrongKeyError(path, 'is missing, which opens')
  const ring = new KeyRing(path, keys)
  ring.open(secretTable.read(first))
  return ring
}

/**
 * Opens the secrets of a store with `sealing.key` of the state folder. The first start on a store
 * creates both, and takes over the files of an earlier version. Throws `config_invalid` when the
 * store has secrets that the key does not open: also for the slower one of two first starts.
 */
export const openSecrets = async (parts: OpenSecretsParts): Promise<OpenedSecrets> => {
  const { store, stateDir, logger } = parts
  const path = sealingKeyPath(stateDir)
  const known = await openKeyRing(parts)
  const present = await readSealingKeys(path)
  const ring = known ?? new KeyRing(path, present ?? (await createSealingKeys(path)))
  await warnOfReaders(path, logger)
  const secrets = new SharedSecrets({ ledger: store.ledger, ring })
  const files = await readSecretFiles(stateDir)
  if (known === undefined) {
    files.forEach(requireIntact)
    // before there was the table, the key of the file has sealed values in other tables
    const dataKeys = createDataKeys((present ?? []).map(({ bytes }) => bytes))
    await fillStore(parts, secrets, [{ name: 'data-keys', text: dataKeys }, ...files])
  }
  await secrets.refresh()
  // a SQLite store beside a shared one may be older, and need these files itself
  if (!store.isShared || !isStoreFolder(stateDir))
    await removeStoredFiles(files, name => secrets.get(name), logger)
  return { secrets, ring }
}

/** Warns when other users of the machine may read the file, as after a careless copy. */
const warnOfReaders = async (file: string, logger: Pick<Logger, 'warn'>): Promise<void> => {
  const { mode } = await stat(file)
  if ((mode & 0o077) !== 0)
    logger.warn({ file }, 'other users can read sealing.key: set its mode to 0600')
}

/** Stores all of them, unless another coordinator was faster: then none. */
const fillStore = (
  { store }: Pick<OpenSecretsParts, 'store'>,
  secrets: SharedSecrets,
  first: readonly { name: SecretName; text: string }[],
): Promise<void> =>
  store.ledger.sealed.write(async trx => {
    if (await secrets.has(trx, 'data-keys')) return
    for (const { name, text } of first) await secrets.insertNew(trx, name, text)
  }, EVEN_FROZEN)
