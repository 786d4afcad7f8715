import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import type { Coverage } from './coverage.ts'

const CoverageText = z.object({
  /** Time of the last change, in Unix milliseconds. */
  at: z.int(),
  /** Coverage by the name of the plane in the health view. */
  planes: z.record(z.string(), z.object({ connected: z.int(), live: z.int() })),
})
type CoverageText = z.infer<typeof CoverageText>

const fileOf = (stateDir: string): string => join(stateDir, 'coordinators.json')

/**
 * Reads what the running daemon has recorded; undefined when there is one coordinator only, or when
 * the daemon does not run.
 */
export const readCoverage = async (stateDir: string): Promise<CoverageText | undefined> => {
  const text = await readPrivate(fileOf(stateDir))
  return text === undefined ? undefined : CoverageText.parse(JSON.parse(text))
}

/**
 * Shows `shoald doctor`, which is another process, how many coordinators this daemon is connected
 * to. Nothing is written while there is only one.
 */
export class CoverageFile {
  readonly #path: string
  readonly #logger: Pick<Logger, 'warn'>
  #planes: Record<string, Coverage> = {}
  #last: Promise<void> = Promise.resolve()

  /** Removes the file of an earlier start, and its own when the signal aborts. */
  constructor(stateDir: string, logger: Pick<Logger, 'warn'>, signal: AbortSignal) {
    this.#path = fileOf(stateDir)
    this.#logger = logger
    this.#remove()
    signal.addEventListener('abort', () => this.#remove(), { once: true })
  }

  record(plane: string, coverage: Coverage): void {
    const before = this.#planes[plane]
    if (before?.connected === coverage.connected && before.live === coverage.live) return
    const hadSeveral = this.#hasSeveral()
    this.#planes = { ...this.#planes, [plane]: coverage }
    if (hadSeveral || this.#hasSeveral()) this.#write()
  }

  #hasSeveral(): boolean {
    return Object.values(this.#planes).some(({ live }) => live > 1)
  }

  #write(): void {
    const kept: CoverageText = { at: Date.now(), planes: this.#planes }
    this.#runInTurn(() => replacePrivate(this.#path, `${JSON.stringify(kept)}\n`))
  }

  #remove(): void {
    this.#runInTurn(() => rm(this.#path, { force: true }))
  }

  #runInTurn(step: () => Promise<void>): void {
    this.#last = this.#last
      .then(step)
      .catch(error =>
        this.#logger.warn({ reason: error.message }, 'connected coordinators could not be stored'),
      )
  }
}
