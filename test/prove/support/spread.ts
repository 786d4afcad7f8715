const HALVINGS = 60

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/**
 * The most by which the medians of two random halves of the same values differ, in 60 halvings: what
 * chance alone makes of them.
 */
export const spread = (values: readonly number[]): number => {
  let most = 0
  for (let n = 0; n < HALVINGS; n++) {
    const halves: [number[], number[]] = [[], []]
    for (const value of values) halves[Math.random() < 0.5 ? 0 : 1].push(value)
    most = Math.max(most, Math.abs(median(halves[0]) - median(halves[1])))
  }
  return most
}
