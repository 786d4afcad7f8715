/** A chunk of a prompt should take no longer: the others' tokens and a cancel wait for it. */
const TARGET_MS = 100
const LEAST_TOKENS = 16
const MOST_TOKENS = 256

/** Chooses the length of prompt chunks by how long the last ones took. */
export class PromptPace {
  /** Small at first: nobody knows yet how fast this machine is. */
  chunkTokens = 32

  /** A chunk of `tokens` has taken `ms`. At most twice or half the length at once. */
  took(tokens: number, ms: number): void {
    const ideal = (tokens * TARGET_MS) / Math.max(ms, 0.001)
    const bounded = Math.min(Math.max(ideal, this.chunkTokens / 2), this.chunkTokens * 2)
    this.chunkTokens = Math.round(Math.min(Math.max(bounded, LEAST_TOKENS), MOST_TOKENS))
  }
}
