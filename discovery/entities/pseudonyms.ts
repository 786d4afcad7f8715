import { createHmac } from 'node:crypto'

/** Bytes of the secret from which all keys are derived. */
export const PSEUDONYM_SECRET_BYTES = 32

/** A pseudonym fits where a MAC address does: 17 characters. */
const PSEUDONYM = /^hmac:[0-9a-f]{12}$/
const MAC_DIGITS = 12
const TRACE_DIGITS = 24

export const isPseudonym = (text: string): boolean => PSEUDONYM.test(text)

/**
 * Keyed hashes (HMAC-SHA-256, RFC 2104) in place of what would identify people. All coordinators of a
 * store have the same secret, so that a device is the same thing for each of them; without it, a hash
 * cannot be reversed by trying all 2^48 MAC addresses.
 */
export class Pseudonyms {
  readonly #secret: Buffer

  constructor(secret: Buffer) {
    if (secret.length < PSEUDONYM_SECRET_BYTES)
      throw new RangeError(`a secret of ${secret.length} bytes is too short`)
    this.#secret = secret
  }

  /** Pseudonym of a MAC address in canonical form: `hmac:` and 12 hexadecimal digits. */
  hashMac(mac: string): string {
    return `hmac:${this.#hash('mac', mac).toString('hex').slice(0, MAC_DIGITS)}`
  }

  /** Id of a trace, 24 hexadecimal digits, from the text that identifies it. */
  hashTrace(identity: string): string {
    return this.#hash('trace', identity).toString('hex').slice(0, TRACE_DIGITS)
  }

  /** Eight bytes in place of the interface identifier of an IPv6 address (RFC 4291, 2.5.1). */
  hashInterfaceId(mac: string): Buffer {
    const bytes = this.#hash('interface-id', mac).subarray(0, 8)
    // the result must not read as another MAC address, whose middle would be ff:fe
    bytes[3] = 0
    return bytes
  }

  #hash(purpose: string, text: string): Buffer {
    return createHmac('sha256', this.#secret).update(`${purpose}\n${text}`).digest()
  }
}
