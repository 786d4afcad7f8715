import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { createPrivate, readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { requireFingerprint } from '../../net/trust.ts'

/** Most printers that a cell pins. */
const MAX_PINS = 1024

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
   * Compares a certificate with the pinned one, which it becomes when there is none and it names the
   * printer: the certificate of a printer has its serial number as the common name.
   * @throws ShoalError forbidden
   */
  async verify(serial: string, fingerprint: string, commonName: string): Promise<void> {
    const pinned = await this.read(serial)
    if (pinned !== undefined)
      return requireFingerprint(`printer ${serial}`, pinned, fingerprint, this.#path(serial))
    if (commonName !== serial) throw createOtherNameError(serial, commonName)
    await this.#requireRoom()
    if (await createPrivate(this.#path(serial), `${fingerprint}\n`)) return
    await this.verify(serial, fingerprint, commonName)
  }

  /** Pins what the configuration names, in place of an earlier pin. */
  async replace(serial: string, fingerprint: string): Promise<void> {
    await replacePrivate(this.#path(serial), `${fingerprint}\n`)
  }

  async #requireRoom(): Promise<void> {
    const { length } = await readdir(this.#folder).catch(() => [])
    if (length >= MAX_PINS)
      throw new ShoalError(
        'forbidden',
        `${this.#folder} holds ${length} pins; delete those of removed printers`,
      )
  }

  #path(serial: string): string {
    return join(this.#folder, `${serial}.sha256`)
  }
}

const createOtherNameError = (serial: string, commonName: string): ShoalError =>
  new ShoalError(
    'forbidden',
    `the certificate of the peer names ${commonName.slice(0, 64) || 'nobody'} and not the serial ` +
      `number ${serial}, so no access code was sent; check the address, or configure the fingerprint`,
  )
