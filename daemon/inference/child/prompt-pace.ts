/**
 * A chunk of a prompt should take no longer, unless it is the shortest: the others' tokens and a
 * cancel wait for it.
 */
const TARGET_MS = 100
/**
 * llama.cpp reads prompts in chunks of 64 tokens and more with other kernels: on one CPU thread 64
 * tokens took 158 ms and 42 took 182 ms (100M parameters, Q8_0). A shorter chunk is no quicker.
 */
const UNIT_TOKENS = 64
const MOST_TOKENS = 256

/** Chooses the length of prompt chunks by how long the last ones took. */
export class PromptPace {
  /** Starts small, as the speed of the machine is not known yet. */
  chunkTokens = UNIT_TOKENS

  /** A chunk of `tokens` has taken `ms`. At most twice or half the length at once. */
  record(tokens: number, ms: number): void {
    const ideal = (tokens * TARGET_MS) / Math.max(ms, 0.001)
    const bounded = Math.min(Math.max(ideal, this.chunkTokens / 2), this.chunkTokens * 2)
    const units = Math.max(1, Math.floor(bounded / UNIT_TOKENS))
    this.chunkTokens = Math.min(units * UNIT_TOKENS, MOST_TOKENS)
  }
}
