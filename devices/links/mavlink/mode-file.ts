import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'

const Content = z.object({ modes: z.array(z.string().max(64)).max(64) })

/** Modes in which a vehicle carries out its newest instruction, as they outlive the daemon. */
export class ModeFile {
  readonly #path: string

  /** @param stateDir private folder of the links */
  constructor(stateDir: string, deviceId: string) {
    this.#path = join(stateDir, 'mavlink-modes', deviceId)
  }

  /** Empty before the first instruction, and for a file that is damaged. */
  async read(): Promise<readonly string[]> {
    try {
      return Content.parse(JSON.parse((await readPrivate(this.#path)) ?? '{"modes":[]}')).modes
    } catch {
      return []
    }
  }

  async replace(modes: readonly string[]): Promise<void> {
    await replacePrivate(this.#path, `${JSON.stringify({ modes })}\n`)
  }
}
