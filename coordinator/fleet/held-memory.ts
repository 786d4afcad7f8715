/** Memory that answers take until their clients have them, in bytes. */
class HeldMemory {
  readonly limitBytes: number
  #bytes = 0

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  /** False, and nothing taken, when there is not that much and it is not needed in any case. */
  take(bytes: number, isNeeded = false): boolean {
    if (!isNeeded && this.#bytes + bytes > this.limitBytes) return false
    this.#bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }

  get bytes(): number {
    return this.#bytes
  }
}

/** Memory held for answers in this process, mostly large answers to clients that read slowly. */
export const heldAnswers = new HeldMemory(512 * 1024 * 1024)
