import { ShoalError } from '../shared/errors.ts'
import type { Asked } from '../shared/wire/device-outcome.ts'

/** Operations sent to a device, with the answer of each. */
export class AskedLog {
  readonly #sent: { name: string; answer: string | null }[] = []

  get asked(): Asked {
    return { sent: this.#sent.map(each => ({ ...each })) }
  }

  /**
   * Sends an operation; `send` resolves with the acknowledgement, null when the link has none. A
   * refusal of the device is noted as its answer, and thrown.
   */
  async ask<T extends string | null>(name: string, send: () => Promise<T> | T): Promise<T> {
    const entry: { name: string; answer: string | null } = { name, answer: null }
    this.#sent.push(entry)
    try {
      const answer = await send()
      entry.answer = answer
      return answer
    } catch (error) {
      if (error instanceof ShoalError && REFUSALS.includes(error.code)) entry.answer = error.message
      throw error
    }
  }
}

/** Codes of errors that a device itself answered with. */
const REFUSALS: readonly string[] = ['conflict', 'forbidden']
