/** Pseudo-random numbers that a seed repeats (mulberry32). */
export const randomOf = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const randomBelow = (limit: number): number => Math.floor(next() * limit)
  return {
    randomFraction: next,
    randomBelow,
    pick: <T>(list: readonly T[]): T => list[randomBelow(list.length)] as T,
  }
}
export type Random = ReturnType<typeof randomOf>
