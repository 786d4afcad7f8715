import { type FileHandle, open } from 'node:fs/promises'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import type { JournalFile } from './journal.ts'

/** The journal on the disk of the cell, readable by its owner alone. */
export const journalFile = (path: string): JournalFile => {
  let file: FileHandle | undefined
  const close = async (): Promise<void> => {
    const open = file
    file = undefined
    await open?.close()
  }
  return {
    read: () => readPrivate(path),
    append: async text => {
      file ??= await open(path, 'a', 0o600)
      await file.appendFile(text)
      await file.datasync()
    },
    replace: async text => {
      await close()
      await replacePrivate(path, text)
    },
    close,
  }
}
