import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'

/** Files and sockets that the process may open; no bound where the system does not tell. */
export const readDescriptorLimit = (): number => {
  try {
    const found = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return found === null ? Number.POSITIVE_INFINITY : Number(found[1])
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Files and sockets that the process has open; 0 where the system does not tell. */
export const countDescriptors = (): Promise<number> =>
  readdir('/proc/self/fd').then(
    names => names.length,
    () => 0,
  )
