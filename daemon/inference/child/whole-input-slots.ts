import type { StepCounts } from '../protocol.ts'

/** One context per slot, each of which evaluates one whole input at a time. */
export class WholeInputSlots<Context> {
  readonly counts: StepCounts = { steps: 0, width: 0, active: 0, tokens: 0 }
  readonly #free: Context[]
  readonly #onStep: () => void

  private constructor(contexts: Context[], onStep: () => void) {
    this.#free = contexts
    this.#onStep = onStep
  }

  static async create<Context>(
    slots: number,
    onStep: () => void,
    createContext: () => Promise<Context>,
  ): Promise<WholeInputSlots<Context>> {
    const contexts: Context[] = []
    while (contexts.length < slots) contexts.push(await createContext())
    return new WholeInputSlots(contexts, onStep)
  }

  /** Runs a job in a free slot. */
  async use(job: number, run: (context: Context) => Promise<void>): Promise<void> {
    const context = this.#free.pop()
    if (context === undefined) throw new Error(`no slot is free for job ${job}`)
    try {
      await run(context)
    } finally {
      this.#free.push(context)
    }
  }

  /** Counts one input that was evaluated. */
  count(tokens: number): void {
    this.counts.steps++
    this.counts.width++
    this.counts.active++
    this.counts.tokens += tokens
    this.#onStep()
  }
}
