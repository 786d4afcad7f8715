import type { Logger } from 'pino'

/** Environment of a command of `shoald`. */
export interface CommandContext {
  argv: string[]
  env: Record<string, string | undefined>
  write: (text: string) => void
  logger: Logger
  signal: AbortSignal
  /** Asks the operator a question that is answered by yes or no; absent without a terminal. */
  confirm?: (question: string) => Promise<boolean>
}

/** Runs a command and returns its exit code; failures are ShoalErrors. */
export type DaemonCommand = (context: CommandContext) => Promise<number>

/** Usage and purpose of a command. */
export interface CommandHelp {
  usage: string
  summary: string
  /** Flags of this command, one line each. */
  flags: readonly string[]
}
