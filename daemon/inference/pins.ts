import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'

/** Models pinned by an operator, kept over restarts. */
export interface Pins {
  /** @throws ShoalError store_unavailable for a file that cannot be read or understood */
  read(): Promise<ReadonlySet<string>>
  write(models: ReadonlySet<string>): Promise<void>
}

/** The list needs no bound of its own, as only models of the catalogue are ever pinned. */
const PinnedModels = z.array(z.string().max(128))

/** Pins stored in `pinned-models.json` in the daemon's state folder. */
export const pinsFile = (stateDir: string): Pins => {
  const path = join(stateDir, 'pinned-models.json')
  return {
    read: async () => new Set(parsePins(path, await readPrivate(path))),
    write: models => replacePrivate(path, `${JSON.stringify([...models])}\n`),
  }
}

/** Throws for a damaged file; treating it as empty would lose its pins at the next write. */
const parsePins = (path: string, text = '[]'): string[] => {
  try {
    return PinnedModels.parse(JSON.parse(text))
  } catch (cause) {
    const message = `${path} is damaged; restore it, or remove it and pin the models again`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}
