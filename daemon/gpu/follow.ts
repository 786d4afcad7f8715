import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { restartMs } from '../backoff.ts'

interface ChildFollowOptions {
  command: string
  args: string[]
  /** Receives each line of the child's output. */
  onLine: (line: string) => void
  /** The child ended or could not be started. */
  onEnd: (reason: string) => void
  /** A child that is silent for longer is killed and started again. */
  silenceMs: number
  signal: AbortSignal
  wait?: Wait
}

const MAX_LINE_CHARACTERS = 4096

/**
 * Keeps one long-lived child running and hands on its lines. There is never a second child: one
 * that cannot be killed (a driver that hangs in the kernel) is waited for.
 */
export const followChild = async (options: ChildFollowOptions): Promise<void> => {
  const { onEnd, signal, wait = realWait } = options
  for (let failures = 0; !signal.aborted; failures++) {
    let spoke = false
    const reason = await runOnce(options, () => {
      spoke = true
    }).catch((error: Error) => `${options.command} cannot be run: ${error.message}`)
    if (signal.aborted) return
    onEnd(reason)
    if (spoke) failures = 0
    await wait(restartMs(failures), signal)
  }
}

/** Runs the child once; resolves with the reason why it ended. */
const runOnce = async (options: ChildFollowOptions, onSpoke: () => void): Promise<string> => {
  const { command, args, onLine, silenceMs, signal } = options
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
  })
  const closed = once(child, 'close')
  const kill = () => child.kill('SIGKILL')
  const silence = setTimeout(kill, silenceMs)
  const stop = () => {
    kill()
    letGo(child)
  }
  signal.addEventListener('abort', stop)
  let complaint = ''
  eachLine(child.stdout, line => {
    silence.refresh()
    onSpoke()
    onLine(line)
  })
  eachLine(child.stderr, line => {
    complaint = line.slice(0, 300)
  })
  try {
    const [code, killedBy] = await closed
    return complaint || `${command} ended with ${killedBy ?? code}`
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', stop)
  }
}

/** A child that hangs in the kernel must not keep the daemon from ending. */
const letGo = (child: ChildProcess): void => {
  child.unref()
  child.stdout?.destroy()
  child.stderr?.destroy()
}

/** A line that is too long, or that never ends, is thrown away. */
const eachLine = (stream: Readable | null, onLine: (line: string) => void): void => {
  let rest = ''
  stream?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARACTERS + 1)
    for (const line of lines)
      if (line.trim() !== '' && line.length <= MAX_LINE_CHARACTERS) onLine(line.trim())
  })
}
