import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openSecrets } from '../../coordinator/kernel/secrets/open-secrets.ts'
import type { Secrets } from '../../coordinator/kernel/secrets/secrets.ts'
import type { SharedSecrets } from '../../coordinator/kernel/secrets/shared-secrets.ts'
import { openSigning, type SigningKey } from '../../coordinator/kernel/signing/signing.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { silent } from './cell.ts'

/** The secrets of a store, opened with the sealing key in the folder. */
export const secretsOf = async (store: Store, stateDir: string): Promise<SharedSecrets> =>
  (await openSecrets({ store, stateDir, logger: silent })).secrets

export const signingOf = async (store: Store, stateDir: string): Promise<SigningKey> =>
  openSigning(await secretsOf(store, stateDir))

/** Secrets that are created when they are asked for, and are nowhere else. */
export const memorySecrets = (): Pick<Secrets, 'ensure'> => {
  const texts = new Map<string, string>()
  return {
    ensure: async (name, create) => {
      const text = texts.get(name) ?? (await create())
      texts.set(name, text)
      return text
    },
  }
}

/** Place of a certificate that belongs to no store. */
export const certificatePlace = async (t: Pick<Test, 'teardown'>) => ({
  stateDir: await temporaryFolder(t),
  secrets: memorySecrets(),
})

const SEALING_KEY = `${randomBytes(32).toString('base64')}\n`

/** Gives a state folder the sealing key of this test file: any of its scenes may share a store. */
export const placeSealingKey = (stateDir: string): void => {
  const path = join(stateDir, 'sealing.key')
  if (!existsSync(path)) writeFileSync(path, SEALING_KEY, { mode: 0o600 })
}
