import type { LlamaContext, LlamaModel, Token } from 'node-llama-cpp'
import type { MeasureOrder, ThroughputMeasurement } from '../protocol.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import { createChatContext } from './context.ts'
import { isTransient } from './model.ts'
import type { Slot } from './slot.ts'

/** Length of each stream's prompt. */
const PROMPT_TOKENS = 8
/** Each stream makes these first; the reading of its prompt is in them. */
const WARM_UP_TOKENS = 2

/**
 * Measures each number of streams with each number of threads for an equal share of the time.
 * Numbers that the memory has no room for are left out.
 *
 * @throws Error at twice the time: half a table would favour what was measured first
 */
export const measureThroughput = async (
  model: LlamaModel,
  order: MeasureOrder,
): Promise<ThroughputMeasurement[]> => {
  const rows: ThroughputMeasurement[] = []
  const share = order.budgetMs / (order.slots.length * order.threads.length)
  const endsAt = performance.now() + 2 * order.budgetMs
  for (const threads of order.threads) {
    const made = await largestContext(model, order, threads)
    for (const slots of order.slots) {
      if (made === undefined || slots > made.slots.length) continue
      if (performance.now() > endsAt) throw new Error('the measurement took too long')
      const tokensPerSecond = await speed(model, made.slots.slice(0, slots), order, share)
      rows.push({ slots, threads, tokensPerSecond: Math.round(tokensPerSecond * 10) / 10 })
    }
    await made?.context.dispose()
  }
  return rows
}

/** Context with as many slots as fit in memory; undefined when not even one fits. */
const largestContext = async (
  model: LlamaModel,
  { slots: counts, contextLength }: MeasureOrder,
  threads: number,
): Promise<{ context: LlamaContext; slots: Slot[] } | undefined> => {
  for (const slots of counts.toSorted((a, b) => b - a)) {
    try {
      return await createChatContext(model, { slots, contextLength, threads }, new BatchScheduler())
    } catch (error) {
      if (!isTransient(error)) throw error
    }
  }
  return undefined
}

/** Tokens a second of these streams together, once all of them write. */
const speed = async (
  model: LlamaModel,
  slots: readonly Slot[],
  { contextLength }: MeasureOrder,
  forMs: number,
): Promise<number> => {
  const prompt = Array<Token>(PROMPT_TOKENS).fill(model.tokens.bos ?? (0 as Token))
  const most = contextLength - PROMPT_TOKENS - 1
  let writing = 0
  let startedAt = Number.POSITIVE_INFINITY
  let tokens = 0
  let elapsedMs = 1
  const stream = async (slot: Slot): Promise<void> => {
    await slot.keep(0)
    await slot.runActive(async () => {
      let made = 0
      for await (const _ of slot.generate(prompt, { temperature: 0 }, {})) {
        if (++made === WARM_UP_TOKENS && ++writing === slots.length) startedAt = performance.now()
        else if (writing === slots.length) {
          tokens++
          elapsedMs = performance.now() - startedAt
        }
        if (elapsedMs >= forMs || made >= most) return
      }
    })
  }
  await Promise.all(slots.map(stream))
  return (tokens * 1000) / elapsedMs
}
