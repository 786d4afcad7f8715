import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'

/** Which models an operator has pinned; it is kept over restarts. */
export interface Pins {
  read(): Promise<ReadonlySet<string>>
  write(models: ReadonlySet<string>): Promise<void>
}

const PinnedModels = z.array(z.string().max(128)).max(256)

/** In `pinned-models.json` of the daemon's state. A damaged file counts as none. */
export const pinsFile = (stateDir: string): Pins => {
  const path = join(stateDir, 'pinned-models.json')
  return {
    read: async () => new Set(parsed(await readPrivate(path))),
    write: models => replacePrivate(path, `${JSON.stringify([...models])}\n`),
  }
}

const parsed = (text = '[]'): string[] => {
  try {
    return PinnedModels.parse(JSON.parse(text))
  } catch {
    return []
  }
}
