import { execFile } from 'node:child_process'

export interface ProgramResult {
  /** Exit status; null when a signal or the deadline ended it. */
  status: number | null
  stdout: string
  stderr: string
}

const MAX_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 20_000

/** Runs a program without a shell; undefined when it is not installed or may not be run. */
export const runProgram = (
  file: string,
  words: readonly string[],
  signal: AbortSignal,
): Promise<ProgramResult | undefined> =>
  new Promise((resolve, reject) => {
    const options = { signal, timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES, killSignal: 'SIGKILL' }
    execFile(file, words, options as object, (error, stdout, stderr) => {
      const status = error === null ? 0 : statusOf(error.code)
      const result = { status, stdout: String(stdout), stderr: String(stderr).slice(0, 1000) }
      if (signal.aborted) reject(signal.reason)
      else if (['ENOENT', 'EACCES'].includes(String(error?.code))) resolve(undefined)
      else resolve(result)
    })
  })

const statusOf = (code: unknown): number | null => (typeof code === 'number' ? code : null)
