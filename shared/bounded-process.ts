import { type ChildProcess, fork } from 'node:child_process'

interface BoundedProcessParts {
  /** Program: it sends a message when it is loaded, then one answer to each order. */
  file: URL
  heapMb: number
  /** Time without an order after which the process ends, because it takes memory; never by default. */
  idleMs?: number
  /** Time within which the program must be loaded; a minute by default, for a busy machine. */
  startMs?: number
  /** First message to the program, which it receives before it says that it is loaded. */
  setup?: unknown
}

/**
 * A child process for work that may take any time or memory, one order at a time. It starts with the
 * first order, and is killed by one that exceeds its bounds; the next order starts another. A thread
 * would not do: one whose heap overflows may end the whole process (V8 aborts when a garbage
 * collection cannot free what the 16 MB of allowance of a worker do not hold).
 */
export class BoundedProcess<Order, Answer> {
  readonly #parts: BoundedProcessParts
  #child: Promise<ChildProcess> | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: BoundedProcessParts) {
    this.#parts = parts
  }

  /** True while there is a process. */
  get isStarted(): boolean {
    return this.#child !== undefined
  }

  /** Orders without an answer. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves to undefined when no answer came within the time of the order, or the process ended, as
   * it does when its memory overflows.
   */
  ask(order: Order, maxSeconds: number): Promise<Answer | undefined> {
    this.#waiting++
    const mine = this.#last.then(() => this.#askNext(order, maxSeconds))
    this.#last = mine.catch(() => {}).finally(() => this.#leave())
    return mine
  }

  async #askNext(order: Order, maxSeconds: number): Promise<Answer | undefined> {
    clearTimeout(this.#idle)
    this.#child ??= this.#start()
    const child = await this.#child.catch(error => {
      this.#child = undefined
      throw error
    })
    const answer = await askChild<Answer>(child, order, maxSeconds)
    if (answer === undefined) this.#stop(child)
    return answer
  }

  #start(): Promise<ChildProcess> {
    const starting = startChild(this.#parts)
    const forget = (): void => {
      if (this.#child === starting) this.#child = undefined
    }
    // a process that ends between two orders answers none
    starting.then(
      child => child.once('exit', forget),
      () => {},
    )
    return starting
  }

  #leave(): void {
    this.#waiting--
    const { idleMs } = this.#parts
    if (this.#waiting > 0 || idleMs === undefined) return
    const stop = async (): Promise<void> => {
      const child = await this.#child
      if (child !== undefined && this.#waiting === 0) this.#stop(child)
    }
    this.#idle = setTimeout(() => void stop().catch(() => {}), idleMs).unref()
  }

  #stop(child: ChildProcess): void {
    this.#child = undefined
    child.kill('SIGKILL')
  }
}

const START_MS = 60_000

/** Resolves when the modules of the program are loaded, which the time of an order leaves out. */
const startChild = async ({
  file,
  heapMb,
  setup,
  startMs = START_MS,
}: BoundedProcessParts): Promise<ChildProcess> => {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  const child = fork(file, {
    execArgv: [`--max-old-space-size=${heapMb}`],
    env: { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) },
    serialization: 'advanced',
    // a heap that overflows is reported by its order, and not with a trace
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const fail = (): void => reject(new Error('the bounded process ended at its start'))
  // the listener of errors stays: the channel of a killed process reports one
  child.once('message', resolve).once('exit', fail).on('error', reject)
  const timer = setTimeout(
    () => reject(new Error(`the bounded process was not loaded within ${startMs / 1000} s`)),
    startMs,
  )
  if (setup !== undefined) child.send(setup as object, error => error && reject(error))
  try {
    await promise
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
  child.off('exit', fail)
  letGo(child)
  return child
}

/** Answer of the child; undefined when the process ended or the time is over. */
const askChild = async <Answer>(
  child: ChildProcess,
  order: unknown,
  maxSeconds: number,
): Promise<Answer | undefined> => {
  const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
  const give = (): void => resolve(undefined)
  const timer = setTimeout(give, maxSeconds * 1000)
  child.once('message', resolve as (answer: unknown) => void).once('exit', give)
  child.ref()
  child.channel?.ref()
  try {
    if (child.connected) child.send(order as object, error => error && give())
    else give()
    return await promise
  } finally {
    clearTimeout(timer)
    child.off('message', resolve as (answer: unknown) => void).off('exit', give)
    letGo(child)
  }
}

/** Lets this process end while the child waits; the child ends with the channel. */
const letGo = (child: ChildProcess): void => {
  child.unref()
  child.channel?.unref()
}
