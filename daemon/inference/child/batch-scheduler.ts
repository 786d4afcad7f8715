import type { StepCounts } from '../protocol.ts'

/** Fields used from the engine's queue entry. The priority is the slot's id, counted from 1. */
interface Queued {
  readonly tokens: readonly unknown[]
  readonly evaluationPriority: number
}

/** Rounds seen until all slots have queued their next token: 3. Bounded, or the loop would starve. */
const MAX_SPINS = 16

/**
 * Decides what goes into the engine's next step. The engine asks a few microtasks before the last
 * slot has queued its token, so an empty answer makes it ask again. The slots go in by id, because
 * llama.cpp cuts a batch wherever the ids are not consecutive (`split_equal` in llama-batch.cpp).
 */
export class BatchScheduler {
  /** Slots that will queue tokens without waiting for anything else. */
  active = 0
  readonly counts: StepCounts = { steps: 0, width: 0, active: 0, tokens: 0 }
  #spins = 0
  readonly #onStep: () => void

  /** `onStep` is called when a step begins: every slot has handed over its last token. */
  constructor(onStep: () => void = () => {}) {
    this.#onStep = onStep
  }

  readonly strategy = <Item extends Queued>({
    items,
    size,
  }: {
    items: readonly Item[]
    size: number
  }): { item: Item; processAmount: number }[] => {
    if (items.length < this.active && this.#spins < MAX_SPINS) {
      this.#spins++
      return []
    }
    this.#spins = 0
    const batch = fillBatch(items, size)
    this.#count(batch)
    this.#onStep()
    return batch
  }

  #count(batch: readonly { processAmount: number }[]): void {
    this.counts.steps++
    this.counts.width += batch.length
    this.counts.active += Math.max(this.active, batch.length)
    for (const { processAmount } of batch) this.counts.tokens += processAmount
  }
}

/** `size` tokens at most: first one for each slot that generates, the rest for prompts. */
export const fillBatch = <Item extends Queued>(
  items: readonly Item[],
  size: number,
): { item: Item; processAmount: number }[] => {
  let singlesLeft = Math.min(size, items.filter(isSingle).length)
  let promptsLeft = size - singlesLeft
  const batch: { item: Item; processAmount: number }[] = []
  for (const item of items.toSorted((a, b) => a.evaluationPriority - b.evaluationPriority)) {
    const single = isSingle(item)
    const processAmount = Math.min(item.tokens.length, single ? singlesLeft : promptsLeft)
    if (processAmount === 0) continue
    if (single) singlesLeft -= processAmount
    else promptsLeft -= processAmount
    batch.push({ item, processAmount })
  }
  return batch
}

const isSingle = (item: Queued): boolean => item.tokens.length === 1
