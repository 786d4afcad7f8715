import { setImmediate } from 'node:timers/promises'

/**
 * Longest turn of the event loop while some work goes on, in milliseconds of the thread's processor
 * time: a busy machine does not count.
 */
export const measureLongestTurn = async <T>(
  work: () => Promise<T>,
): Promise<{ result: T; longestMs: number }> => {
  let isDone = false
  let longest = 0
  const watch = async (): Promise<void> => {
    while (!isDone) {
      const before = process.threadCpuUsage()
      await setImmediate()
      const { user, system } = process.threadCpuUsage(before)
      longest = Math.max(longest, user + system)
    }
  }
  const watching = watch()
  const result = await work()
  await setImmediate()
  isDone = true
  await watching
  return { result, longestMs: Math.round(longest / 1000) }
}
