import { ShoalError } from '../../../shared/errors.ts'
import { sleep, systemRuntime } from '../../../shared/runtime.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { announceDataKey, promoteDataKey } from './data-keys.ts'
import type { OpenedSecrets } from './open-secrets.ts'
import { findReplicasWithout } from './replica-keys.ts'
import { secretTable } from './secret.table.ts'

interface Rotation {
  /** Id of the key that seals the store from now on. */
  sealing_key: string
  replaces: string
}

interface RotationParts extends OpenedSecrets {
  ledger: Pick<Ledger, 'sealed' | 'nowMs'>
  /** Records the rotation in its transaction. */
  record: (trx: SealedTrx, rotation: Rotation) => Promise<unknown>
  wait?: (milliseconds: number) => Promise<unknown>
}

/** Time in which every coordinator has read what was announced: revisions are polled twice a second. */
const ANNOUNCED_MS = 2000

const delay = (milliseconds: number): Promise<void> => sleep(systemRuntime, milliseconds)

/**
 * Seals the secrets of the store with the first key of `sealing.key`, and takes a new data key into
 * use, while coordinators serve. Throws `conflict` when the store is sealed with that key already,
 * or while a live coordinator does not have it.
 */
export const rotateSealingKey = async (parts: RotationParts): Promise<Rotation> => {
  const { ledger, secrets, record, wait = delay } = parts
  const rotation = await ledger.sealed.write(async trx => {
    const rotation = await reseal(trx, parts)
    await record(trx, rotation)
    await bumpRevision(trx, 'secrets')
    return rotation
  })
  await wait(ANNOUNCED_MS)
  await secrets.update('data-keys', async text => promoteDataKey(text))
  return rotation
}

const reseal = async (trx: SealedTrx, { ledger, ring }: RotationParts): Promise<Rotation> => {
  const [keyId = ''] = ring.ids
  const stored = (await trx.selectFrom('secrets').selectAll().execute()).map(secretTable.read)
  const replaces = stored.find(({ name }) => name === 'data-keys')?.keyId ?? ''
  if (replaces === keyId)
    throw new ShoalError(
      'conflict',
      `the store is sealed with the first key of ${ring.path} already: add another one with secrets add-key`,
    )
  await requireKeyEverywhere(trx, keyId, await ledger.nowMs(trx))
  for (const secret of stored) {
    const text = ring.open(secret)
    const isAnnounced = secret.name === 'data-keys'
    const next = isAnnounced ? announceDataKey(text) : text
    await trx
      .updateTable('secrets')
      .set(
        secretTable.writeSome({
          keyId,
          sealed: ring.seal(keyId, secret.name, next),
          version: secret.version + (isAnnounced ? 1 : 0),
        }),
      )
      .where('name', '=', secret.name)
      .execute()
  }
  return { sealing_key: keyId, replaces }
}

const requireKeyEverywhere = async (trx: SealedTrx, keyId: string, now: number): Promise<void> => {
  const missing = await findReplicasWithout(trx, keyId, now)
  if (missing.length === 0) return
  const names = missing.map(({ id, address }) => (address === null ? id : `${id} (${address})`))
  throw new ShoalError(
    'conflict',
    `these coordinators do not have the key ${keyId} yet: ${names.join(', ')}; copy sealing.key to their state folders, and try again after a few seconds`,
  )
}
