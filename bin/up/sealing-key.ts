import { randomBytes } from 'node:crypto'
import { sealingKeyPath } from '../../coordinator/kernel/secrets/key-file.ts'
import { createPrivate, readPrivate } from '../../shared/private-file.ts'

const KEY_BYTES = 32

/** Gives the state folders of coordinators that share a store the same key: that of the first. */
export const shareSealingKey = async (folders: readonly string[]): Promise<void> => {
  const found = (await Promise.all(folders.map(read))).find(text => text !== undefined)
  const key = found ?? `${randomBytes(KEY_BYTES).toString('base64')}\n`
  for (const folder of folders) await createPrivate(sealingKeyPath(folder), key)
}

const read = (folder: string): Promise<string | undefined> => readPrivate(sealingKeyPath(folder))
