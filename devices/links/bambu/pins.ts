import { join } from 'node:path'
import { createPrivate, readPrivate } from '../../../shared/private-file.ts'
import { requireFingerprint } from '../../net/trust.ts'

/** Certificates of printers by serial number, pinned at the first connection. */
export class PrinterPins {
  readonly #folder: string

  /** @param stateDir private folder of the links */
  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'bambu-pins')
  }

  /** Pinned fingerprint of a printer; undefined before its first connection. */
  async read(serial: string): Promise<string | undefined> {
    return (await readPrivate(this.#path(serial)))?.trim()
  }

  /**
   * Compares a fingerprint with the pinned one, which it becomes when there is none.
   * @throws ShoalError forbidden
   */
  async verify(serial: string, fingerprint: string): Promise<void> {
    if (await createPrivate(this.#path(serial), `${fingerprint}\n`)) return
    requireFingerprint(
      `printer ${serial}`,
      await this.read(serial),
      fingerprint,
      this.#path(serial),
    )
  }

  #path(serial: string): string {
    return join(this.#folder, `${serial}.sha256`)
  }
}
