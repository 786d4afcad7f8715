import { exitCode, ShoalError } from '../../shared/errors.ts'
import type { Wait } from '../../shared/wait.ts'
import { LaunchError } from './launch-error.ts'
import type { Log } from './log.ts'
import { type ChildEnd, type ChildOptions, type RunningProcess, startProcess } from './process.ts'
import { isPermanentFailure, restartMs, SOUND_MS } from './restarts.ts'

/** A line of a child's log: JSON as pino writes it, or text as `msg`. */
export type LogEntry = Record<string, unknown> & { msg?: unknown }

export interface MemberOptions {
  /** Display name, such as `shoald cell-1`. */
  name: string
  program: ChildOptions['program']
  log: Log
  /** Arguments and environment of the next start. A rejection counts as an end of the child. */
  invocation: () => Promise<Pick<ChildOptions, 'args' | 'env'>>
  /** Checks every log entry; true for the one that reports the member as ready. */
  isReady: (entry: LogEntry) => boolean
  /** Runs when the member becomes ready or stops being ready. */
  onChange: () => void
  tell: (text: string) => void
  /** Requests an orderly end; SIGTERM by default. */
  stopSignal?: NodeJS.Signals
  wait: Wait
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
}

/** One child through all of its lives. */
export class Member {
  readonly #options: MemberOptions
  readonly #stop = new AbortController()
  #process: RunningProcess | undefined
  #running: Promise<void> | undefined
  #ready = false
  #everReady = false

  constructor(options: MemberOptions) {
    this.#options = options
  }

  get ready(): boolean {
    return this.#ready
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /**
   * Runs the member and restarts it whenever it ends, until `stop`. Rejects with a LaunchError,
   * made of its last words and exit code, when it ended before it was ever ready and a retry would
   * not help.
   */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  /** Resolves when it has ended. It is never started again. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#process?.kill(this.#options.stopSignal ?? 'SIGTERM')
    await this.#running?.catch(() => {})
    this.#options.log.end()
  }

  /** Ends it at once. It is never started again. */
  kill(): void {
    this.#stop.abort()
    this.#process?.kill('SIGKILL')
  }

  async #run(): Promise<void> {
    const { wait, nowMs, tell, name } = this.#options
    let restarts = 0
    while (!this.#stop.signal.aborted) {
      const startedAt = nowMs()
      const end = await this.#live()
      if (this.#stop.signal.aborted) return
      if (!this.#everReady && isPermanentFailure(end.code))
        throw new LaunchError(end.code ?? 1, end.lastWords)
      if (nowMs() - startedAt >= SOUND_MS) restarts = 0
      const pauseMs = restartMs(restarts++)
      tell(`${name} ${describeEnd(end)}; it starts again in ${pauseMs / 1000} s`)
      await wait(pauseMs, this.#stop.signal)
    }
  }

  async #live(): Promise<ChildEnd> {
    const { program, invocation, onChange: changed } = this.#options
    try {
      const { args, env } = await invocation()
      if (this.#stop.signal.aborted) return { code: 0, signal: null, lastWords: '' }
      this.#process = startProcess({ program, args, env, onLine: line => this.#onLine(line) })
    } catch (error) {
      if (!(error instanceof ShoalError || error instanceof LaunchError)) throw error
      const code = error instanceof LaunchError ? error.exitCode : exitCode(error.code)
      return { code, signal: null, lastWords: error.message }
    }
    const end = await this.#process.ended
    this.#process = undefined
    this.#ready = false
    changed()
    return end
  }

  #onLine(line: string): void {
    const { log, isReady, onChange: changed, tell, name } = this.#options
    log.write(line)
    if (!isReady(entryOf(line))) return
    if (this.#everReady && !this.#ready) tell(`${name} is up again`)
    this.#ready = true
    this.#everReady = true
    changed()
  }
}

const describeEnd = ({ code, signal, lastWords }: ChildEnd): string =>
  `ended with ${signal ?? `code ${code}`}${lastWords === '' ? '' : ` (${lastWords})`}`

const entryOf = (line: string): LogEntry => {
  if (!line.startsWith('{')) return { msg: line }
  try {
    return JSON.parse(line)
  } catch {
    return { msg: line }
  }
}
