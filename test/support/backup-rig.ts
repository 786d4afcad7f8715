import { generateIdentity, identityToRecipient } from 'age-encryption'
import type { Test } from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { verifyUsage } from '../../coordinator/access/quota/accept-usage.ts'
import { createUsage, type NewUsage } from '../../coordinator/access/quota/usage.ts'
import { journalUsage } from '../../coordinator/access/quota/usage-journal.ts'
import { queryUsage } from '../../coordinator/access/quota/usage-query.ts'
import { createBackup } from '../../coordinator/insight/backup/create-backup.ts'
import type { SealWith } from '../../coordinator/insight/backup/seal.ts'
import type { StorePlace } from '../../coordinator/kernel/store/place.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { silent } from './cell.ts'
import { placeEmptyStore } from './empty-store.ts'
import { secretsOf, signingOf } from './secrets.ts'

export const PASSPHRASE = 'correct horse battery staple'
/** A seal with the passphrase that takes a millisecond; that of the product takes half a second. */
export const sealLightly = { passphrase: PASSPHRASE, workFactor: 8 }

const identity = await generateIdentity()
/** Opens what `make` seals; a passphrase costs half a second of CPU time each way. */
export const openWith = { identities: [identity] }
const recipients = [await identityToRecipient(identity)]

export const NOW = Date.UTC(2026, 10, 20, 12)
const EVER = { from: 0, to: 1e14, groupBy: ['tenant', 'model'] as const, limit: 10 }

export const usageRow = (more: Partial<NewUsage> = {}): NewUsage => ({
  at: NOW,
  key_id: 'k',
  tenant_id: 'one',
  model: 'm',
  cell_id: 'c',
  route: '/v1/chat/completions',
  status: 'ok',
  prompt_tokens: 3,
  completion_tokens: 5,
  cached_tokens: 0,
  duration_ms: 20,
  request_id: 'r',
  ...more,
})

/** A store with keys, secrets, audit and usage, and a folder for backups. */
export const backupRig = async (
  t: Pick<Test, 'teardown'>,
  { place: given }: { place?: StorePlace } = {},
) => {
  const [stateDir, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
  const place = given ?? stateDir
  if (given === undefined) placeEmptyStore(stateDir)
  const store = await openStore(place, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  const { keys } = await bootstrap(store)
  await signingOf(store, stateDir)
  const usage = createUsage(store)
  const addUsage = async () => {
    await usage.record(usageRow())
    await usage.anchor()
  }
  await addUsage()
  const sealWith = { recipients }
  const request = { folder, stateDir, place, now: NOW, isScheduled: false, sealWith }
  const make = (more: { now?: number; sealWith?: SealWith; folder?: string } = {}) =>
    createBackup({ ...request, ...more })
  return { store, stateDir, place, folder, keys, addUsage, make }
}

/** What queries answer on the store of a state folder, whose journal is carried over first. */
export const queryStore = async (stateDir: string, place: StorePlace, presented: string) => {
  const store = await openStore(place, { pollMilliseconds: 0, mustExist: true })
  const keys = new Keys({ store, logger: silent })
  try {
    const journal = await journalUsage(createUsage(store), {
      stateDir,
      logger: silent,
      runtime: systemRuntime,
    })
    await journal.close()
    return {
      key: (await keys.authenticate(presented))?.id,
      usage: await queryUsage(store.records, EVER),
      losses: (await verifyUsage(store)).losses,
      secret: (await secretsOf(store, stateDir)).get('signing'),
      audit: await store.ledger.read.selectFrom('audit').select(['seq', 'hash']).execute(),
    }
  } finally {
    keys.close()
    await store.close()
  }
}
