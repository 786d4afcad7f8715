import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/* A process that the daemon starts from sources loads them as the daemon itself was loaded. */

export const QUICK_FLAGS = ['--import', new URL('../bin/quick-load.mjs', import.meta.url).href]

/** Shares the compiled sources of this process; empty when it keeps none. */
export const quickEnvironment = (): Record<string, string> => {
  const folder = getCompileCacheDir()
  // below it, each version of Node has its own
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}
