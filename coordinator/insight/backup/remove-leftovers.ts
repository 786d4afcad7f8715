import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../../../shared/time.ts'

/**
 * Removes folders that a process left behind when it was killed: those with such a name that are this
 * user's own and were not changed for a day.
 */
export const removeLeftovers = async (folder: string, name: RegExp, now: number): Promise<void> => {
  for (const entry of await readdir(folder).catch(() => [])) {
    if (!name.test(entry)) continue
    const path = join(folder, entry)
    const found = await stat(path).catch(() => undefined)
    if (found === undefined || found.uid !== process.getuid?.()) continue
    if (now - found.mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true })
  }
}
