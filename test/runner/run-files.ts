import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { HEAP_FLAGS } from '../support/heap-flags.ts'
import { takeChildrenCpuMs } from './children-cpu.ts'

/** Limit for what hangs: each wait has a shorter deadline that names what did not happen. */
const FIRST_FILE_SECONDS = 900
const FURTHER_FILE_SECONDS = 60
/** Time for a file to report its time-out, after which it is killed. */
const REPORT_SECONDS = 30
/** Time in which the output is read to its end; an orphan may hold it open. */
const OUTPUT_MS = 1000

const PRELOADED = ['../support/without-promise-hooks.ts', '../../bin/quick-load.mjs'].map(file => [
  '--import',
  new URL(file, import.meta.url).href,
])
const GROUP = new URL('group.ts', import.meta.url).pathname

/** Result of a process that ran one file or several. */
export interface RunResult {
  files: readonly string[]
  isPassed: boolean
  /** How the process ended. */
  ending: string
  lines: string[]
  milliseconds: number
  /** CPU time of the process and of the programs that it waited for, in milliseconds. */
  cpuMs: number
}

const running = new Set<ChildProcess>()

/**
 * Runs one file, or several after each other, in a process of its own. Plain Node does that, and not
 * the runner of tap, whose module hooks double the CPU time of each start, also in the programs that
 * a test starts. The process leads a process group, so that the programs that it leaves behind end
 * with it.
 */
export const runFiles = async (
  files: readonly string[],
  limitSeconds = timeoutOf(files) + REPORT_SECONDS,
): Promise<RunResult> => {
  const started = performance.now()
  const [program = ''] = files.length === 1 ? files : [GROUP]
  const child = spawn(process.execPath, [...HEAP_FLAGS, ...PRELOADED.flat(), program], {
    env: {
      ...process.env,
      TAP_TIMEOUT: String(timeoutOf(files)),
      ...(files.length > 1 && { TEST_FILES: files.join('\n') }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  running.add(child)
  const output = collectText(child.stdout)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    killGroup(child)
  }, limitSeconds * 1000)
  const [code, signal] = await once(child, 'exit')
  const cpuMs = takeChildrenCpuMs()
  clearTimeout(timer)
  killGroup(child)
  running.delete(child)
  const text = await output.end()
  const exit = signal === null ? `exited with code ${code}` : `was killed by ${signal}`
  const ending = isLate ? `${exit} after its time limit of ${limitSeconds} s` : exit
  const milliseconds = performance.now() - started
  // a file that ends before its first test has no plan
  const isWhole = /^1\.\.\d+/m.test(text)
  const lines = text.split('\n')
  return { files, isPassed: code === 0 && isWhole, ending, lines, milliseconds, cpuMs }
}

const timeoutOf = ({ length }: readonly string[]): number =>
  FIRST_FILE_SECONDS + FURTHER_FILE_SECONDS * (length - 1)

/** Kills the files that run, with every program of theirs. */
export const killRunning = (): void => {
  for (const child of running) killGroup(child)
}

/** Collects the output; `end` waits for its end, or a short time for an orphan that holds it open. */
const collectText = (stream: Readable): { end(): Promise<string> } => {
  const chunks: string[] = []
  stream.setEncoding('utf8').on('data', chunk => chunks.push(chunk))
  const closed = once(stream, 'close')
  const end = async (): Promise<string> => {
    await Promise.race([closed, pause(OUTPUT_MS, undefined, { ref: false })])
    stream.destroy()
    return chunks.join('')
  }
  return { end }
}

const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // no program of the group runs any more
  }
}
