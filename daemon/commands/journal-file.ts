import { type FileHandle, open } from 'node:fs/promises'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import type { JournalFile } from './journal.ts'

/** Opens the journal file on the cell's disk, readable by its owner only. */
export const openJournalFile = (path: string): JournalFile => {
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
