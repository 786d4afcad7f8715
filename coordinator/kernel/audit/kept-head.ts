import { join } from 'node:path'
import type { Logger } from 'pino'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { AuditHead } from '../../../shared/wire/audit-head.ts'

/**
 * The newest head that this coordinator has signed, in a file of its own: evidence against a
 * database that was set back.
 */
export class KeptHead {
  readonly #path: string
  readonly #logger: Pick<Logger, 'warn'>

  constructor(stateDir: string, logger: Pick<Logger, 'warn'>) {
    this.#path = join(stateDir, 'audit-head.json')
    this.#logger = logger
  }

  /** Returns the head; undefined also for an unreadable file, as the cells have their own copies. */
  async read(): Promise<AuditHead | undefined> {
    const text = await readPrivate(this.#path)
    if (text === undefined) return undefined
    try {
      return AuditHead.parse(JSON.parse(text))
    } catch {
      this.#logger.warn({ path: this.#path }, 'the kept audit head cannot be read')
      return undefined
    }
  }

  replace(head: AuditHead): Promise<void> {
    return replacePrivate(this.#path, `${JSON.stringify(head)}\n`)
  }
}
