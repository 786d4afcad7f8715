/**
 * Seeded pseudo-random numbers: xoshiro128++ (Blackman and Vigna, 2019), whose state is filled by
 * splitmix32. Equal seeds give equal numbers on every machine.
 */
export class Random {
  readonly #state = new Int32Array(4)

  /** @param seed integer from 0 to 2^32 - 1 */
  constructor(seed: number) {
    let mixed = seed | 0
    for (let at = 0; at < 4; at++) {
      mixed = (mixed + 0x9e3779b9) | 0
      let word = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
      this.#state[at] = word ^ (word >>> 15)
    }
  }

  /** Fills with numbers from 0 to below 1, of 32 bits each. */
  fill(values: Float64Array): void {
    let [a = 0, b = 0, c = 0, d = 0] = this.#state
    for (let at = 0; at < values.length; at++) {
      const sum = (a + d) | 0
      values[at] = ((((sum << 7) | (sum >>> 25)) + a) >>> 0) / 2 ** 32
      const shifted = b << 9
      c ^= a
      d ^= b
      b ^= c
      a ^= d
      c ^= shifted
      d = (d << 11) | (d >>> 21)
    }
    this.#state.set([a, b, c, d])
  }
}
