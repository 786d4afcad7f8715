import type { Logger } from 'pino'

/** What the commands of `shoald` get from outside. */
export interface CommandContext {
  argv: string[]
  env: Record<string, string | undefined>
  write: (text: string) => void
  logger: Logger
  signal: AbortSignal
}

/** Runs to its end and answers the exit code; failures are ShoalErrors. */
export type DaemonCommand = (context: CommandContext) => Promise<number>

/** How a command is written, and what it does. */
export interface CommandHelp {
  usage: string
  summary: string
  /** Its own flags, a line each. */
  flags: readonly string[]
}
