/** Progress of a long operation on standard error, shown on terminals only. */
export interface ProgressLine {
  /** Shows the current step; `percent` is 0-100 where it is known. */
  show(text: string, percent?: number | null): void
  /** Clears the line. */
  clear(): void
}

interface ProgressOutput {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

interface ProgressOptions {
  output: ProgressOutput
  env: Record<string, string | undefined>
  /** Calls `tick` at an interval until the returned function is called. */
  repeat?: (ms: number, tick: () => void) => () => void
}

/** Ticks before anything is shown, so that short operations do not flicker. */
const QUIET_TICKS = 4
const TICK_MS = 100
/** ASCII, for terminals of every character set. */
const FRAMES = ['|', '/', '-', '\\']
const BAR_WIDTH = 20
/** Sequence that moves back to the left and clears the line (ECMA-48, 8.3.41). */
const CLEAR = '\r\u001b[K'

export const createProgress = ({
  output,
  env,
  repeat: every = interval,
}: ProgressOptions): ProgressLine => {
  if (output.isTTY !== true || env.TERM === 'dumb') return { show: () => {}, clear: () => {} }
  let ticks = 0
  let line = ''
  let stop: (() => void) | undefined
  const draw = (): void => {
    ticks += 1
    if (ticks < QUIET_TICKS) return
    const frame = FRAMES[ticks % FRAMES.length]
    output.write(`${CLEAR}${`${frame} ${line}`.slice(0, (output.columns || 80) - 1)}`)
  }
  return {
    show: (text, percent) => {
      line = percent === undefined || percent === null ? text : `${bar(percent)} ${text}`
      stop ??= every(TICK_MS, draw)
    },
    clear: () => {
      if (ticks >= QUIET_TICKS) output.write(CLEAR)
      stop?.()
      stop = undefined
      ticks = 0
    },
  }
}

/** Shows it as long as `work` takes. */
export const showWhile = async <T>(
  progress: ProgressLine,
  text: string,
  work: Promise<T>,
): Promise<T> => {
  progress.show(text)
  try {
    return await work
  } finally {
    progress.clear()
  }
}

const bar = (percent: number): string => {
  const known = Math.min(100, Math.max(0, percent))
  const marks = '#'.repeat(Math.round((known * BAR_WIDTH) / 100)).padEnd(BAR_WIDTH, '.')
  return `[${marks}] ${Math.round(known)} %`
}

const interval = (ms: number, tick: () => void): (() => void) => {
  const timer = setInterval(tick, ms).unref()
  return () => clearInterval(timer)
}
