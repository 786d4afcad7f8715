import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'

/** Which models an operator has pinned; it is kept over restarts. */
export interface Pins {
  /** @throws ShoalError store_unavailable for a file that cannot be read or understood */
  read(): Promise<ReadonlySet<string>>
  write(models: ReadonlySet<string>): Promise<void>
}

/** Without a bound of its own: only models of the catalogue are ever pinned. */
const PinnedModels = z.array(z.string().max(128))

/** In `pinned-models.json` of the daemon's state. */
export const pinsFile = (stateDir: string): Pins => {
  const path = join(stateDir, 'pinned-models.json')
  return {
    read: async () => new Set(parsed(path, await readPrivate(path))),
    write: models => replacePrivate(path, `${JSON.stringify([...models])}\n`),
  }
}

/** Of a damaged file nothing is known: counted as none, it would be lost with the next pin. */
const parsed = (path: string, text = '[]'): string[] => {
  try {
    return PinnedModels.parse(JSON.parse(text))
  } catch (cause) {
    const message = `${path} is damaged; restore it, or remove it and pin the models again`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}
