import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { LIFELINE } from '../../shared/lifeline.ts'

export interface ChildOptions {
  /** The program and its first arguments. */
  program: readonly [command: string, ...args: string[]]
  args: string[]
  env: Record<string, string | undefined>
  /** Every line that it writes. */
  onLine: (line: string) => void
}

export interface ChildEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** Last line of text on standard error. */
  lastWords: string
}

export interface RunningProcess {
  pid: number
  kill(signal: NodeJS.Signals): void
  ended: Promise<ChildEnd>
}

/**
 * Grace period for output written just before the end; a grandchild may keep the pipes open longer.
 */
const LAST_LINES_MS = 500

const EX_OSERR = 71

/**
 * Starts a program in a separate process group, so that Ctrl-C reaches it through the launcher
 * alone. Its standard input is a pipe that is never written to: when the launcher ends for any
 * reason, the pipe closes and the program exits.
 */
export const startProcess = ({
  program: [command, ...first],
  args,
  env,
  onLine: heard,
}: ChildOptions): RunningProcess => {
  const child = spawn(command, [...first, ...args], {
    env: { ...env, [LIFELINE]: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  child.stdin.on('error', () => {})
  let lastWords = ''
  createInterface({ input: child.stdout }).on('line', heard)
  createInterface({ input: child.stderr }).on('line', line => {
    if (line.trim() !== '') lastWords = line
    heard(line)
  })
  const ended = endOf(child).then(end => ({ lastWords, ...end }))
  return { pid: child.pid ?? 0, kill: signal => void child.kill(signal), ended }
}

const endOf = async (
  child: ChildProcess,
): Promise<Pick<ChildEnd, 'code' | 'signal'> & Partial<ChildEnd>> => {
  const closed = once(child, 'close').catch(() => {})
  try {
    const [code, signal] = await once(child, 'exit')
    await Promise.race([closed, sleep(LAST_LINES_MS)])
    for (const stream of child.stdio) stream?.destroy()
    return { code, signal }
  } catch (cause) {
    return { code: EX_OSERR, signal: null, lastWords: (cause as Error).message }
  }
}
