import type { LlamaContext, LlamaModel } from 'node-llama-cpp'
import type { BatchScheduler } from './batch-scheduler.ts'
import { flashAttentionFor } from './model.ts'
import { Slot } from './slot.ts'
import { Turnstile } from './turnstile.ts'

/** Tokens of one engine step. */
const BATCH_TOKENS = 512

interface ContextSize {
  slots: number
  /** Tokens of one slot. */
  contextLength: number
  threads: number
}

/** A context with as many sequences as slots. @throws InsufficientMemoryError */
export const createChatContext = async (
  model: LlamaModel,
  { slots, contextLength, threads }: ContextSize,
  batching: BatchScheduler,
): Promise<{ context: LlamaContext; slots: Slot[] }> => {
  const context = await model.createContext({
    sequences: slots,
    contextSize: contextLength,
    batchSize: BATCH_TOKENS,
    threads: { ideal: threads, min: threads },
    flashAttention: flashAttentionFor(model),
    failedCreationRemedy: false,
    batching: {
      // Dispatches without a turn of the event loop: the strategy itself waits for the other slots.
      dispatchSchedule: dispatch => queueMicrotask(dispatch),
      itemPrioritizationStrategy: batching.strategy,
    },
  })
  const turnstile = new Turnstile()
  const made = Array.from(
    { length: slots },
    (_, id) => new Slot(id, context.getSequence(), batching, turnstile),
  )
  return { context, slots: made }
}
