/** Runs something for one id at most once in a time; calls in between are dropped. */
export const throttleById = <About extends { id: string }>(
  everyMs: number,
  nowMs: () => number,
  run: (about: About) => void,
): ((about: About) => void) => {
  const ranAt = new Map<string, number>()
  return about => {
    const last = ranAt.get(about.id) ?? Number.NEGATIVE_INFINITY
    if (nowMs() - last < everyMs) return
    ranAt.set(about.id, nowMs())
    run(about)
  }
}
