/**
 * Wraps a call that the kernel may never answer, such as a read of a hung device: after `timeoutMs`
 * the value is unknown, and the call is not made again until the hung one has come back.
 */
export const patient = <T>(
  call: () => Promise<T>,
  timeoutMs: number,
): (() => Promise<T | null>) => {
  let running: Promise<unknown> | undefined
  return () => {
    if (running !== undefined) return Promise.resolve(null)
    const answer = call()
    const settled = answer.then(
      () => {},
      () => {},
    )
    running = settled.finally(() => {
      running = undefined
    })
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(null), timeoutMs)
      answer.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }
}
