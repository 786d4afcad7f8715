import { type ErrorCode, exitCode } from '../../shared/errors.ts'
import { COMMAND_ERRORS, isOpenState } from '../../shared/success-rule.ts'
import { escapeHidden } from '../../shared/visible.ts'

/** A command to a cell, as `commands create` and `commands show` return it. */
export interface SentCommand {
  id: string
  verb: string
  state: string
  mode?: string
  progress: { percent: number | null } | null
}

/** Exit code of a command that has ended; undefined while its outcome is open. */
export const exitOfCommand = (command: SentCommand): number | undefined => {
  if (isOpenState(command.state)) return undefined
  const error = commandError(command)
  return error === undefined ? 0 : exitCode(error)
}

/** Error of a command that has ended; undefined for a success, and while its outcome is open. */
export const commandError = ({ state }: SentCommand): ErrorCode | undefined =>
  isOpenState(state) || state === 'succeeded' ? undefined : (COMMAND_ERRORS[state] ?? 'internal')

/** The program call that waits for the outcome of a command. */
export const waitForCommand = ({ id }: Pick<SentCommand, 'id'>): string =>
  `shoal commands show ${escapeHidden(id)} --wait`
