import { readFileSync } from 'node:fs'

/** Linux reports CPU time to programs in hundredths of a second. */
const TICK_MS = 10

/** CPU time of the processes that this one has started and that have ended, in milliseconds. */
const readTotalMs = (): number => {
  try {
    // The name of the program may contain spaces; `cutime` and `cstime` are fields 16 and 17.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS
  } catch {
    return 0
  }
}

let reportedMs = 0

/**
 * Returns the CPU milliseconds of the processes that have ended since the previous call, with those
 * that they waited for; 0 where there is no `/proc`. A program that was killed as an orphan and the
 * shared PostgreSQL are not included.
 */
export const takeChildrenCpuMs = (): number => {
  const total = readTotalMs()
  const taken = total - reportedMs
  reportedMs = total
  return taken
}
