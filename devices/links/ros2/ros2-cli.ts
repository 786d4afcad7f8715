import { type ExecFileException, execFile } from 'node:child_process'
import { ShoalError } from '../../../shared/errors.ts'

/** Most output that is kept of a call. */
const MAX_OUTPUT_BYTES = 64 * 1024
/** Most text of the tool in a message. */
const MAX_ERROR_CHARS = 200

interface RunOptions {
  /** Kills the tool at once. */
  signal?: AbortSignal
  timeoutMs: number
}

/** Command line tool of ROS 2, run without a shell and with a fixed environment. */
export class Ros2Cli {
  readonly #command: string
  readonly #env: Record<string, string>

  constructor(command: string, env: Record<string, string>) {
    this.#command = command
    this.#env = env
  }

  /**
   * Runs the tool to its end and returns its output.
   * @throws ShoalError, or the reason of the signal
   */
  run(argv: readonly string[], { signal, timeoutMs }: RunOptions): Promise<string> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const options = {
      cwd: '/',
      env: this.#env,
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT_BYTES,
      timeout: timeoutMs,
      // a motion ends with its process: the tool must not take its time
      killSignal: 'SIGKILL',
      shell: false,
    } as const
    const child = execFile(this.#command, argv, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(signal?.aborted ? signal.reason : this.#explain(error, stderr, timeoutMs))
    })
    const kill = (): void => void child.kill('SIGKILL')
    signal?.addEventListener('abort', kill, { once: true })
    child.stdin?.end()
    return promise.finally(() => signal?.removeEventListener('abort', kill))
  }

  #explain(error: ExecFileException, stderr: string, timeoutMs: number): ShoalError {
    if (error.code === 'ENOENT')
      return new ShoalError(
        'cell_unavailable',
        `${this.#command} is not installed on this cell, or not in its PATH`,
        { cause: error },
      )
    if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
      return new ShoalError('payload_too_large', `ros2 wrote more than ${MAX_OUTPUT_BYTES} bytes`)
    if (error.killed)
      return new ShoalError('request_timeout', `ros2 did not end within ${timeoutMs} ms`)
    const detail = stderr.trim().split('\n').at(-1)?.slice(0, MAX_ERROR_CHARS) ?? ''
    return new ShoalError('cell_unavailable', `ros2 failed: ${detail || error.message}`, {
      cause: error,
    })
  }
}
