import { type ErrorCode, exitCode } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'

/** A command to a cell, as `commands create` and `commands show` return it. */
export interface SentCommand {
  id: string
  verb: string
  state: string
  mode?: string
  progress: { percent: number | null } | null
}

export const isSentCommand = (answer: unknown): answer is SentCommand => {
  const { id, verb, state } = (answer ?? {}) as Partial<SentCommand>
  return typeof id === 'string' && typeof verb === 'string' && typeof state === 'string'
}

const OPEN_STATES = ['queued', 'sent', 'accepted', 'executing']

/** True for states of a command whose outcome is open. */
export const isOpen = (state: string): boolean => OPEN_STATES.includes(state)

/** Errors of the final states but `succeeded`. */
const ENDS: Record<string, ErrorCode | undefined> = {
  failed: 'internal',
  rejected: 'forbidden',
  expired: 'cell_unavailable',
  unknown: 'cell_unavailable',
}

/** Exit code of a command that has ended; undefined while its outcome is open. */
export const exitOfCommand = (command: SentCommand): number | undefined => {
  if (isOpen(command.state)) return undefined
  const error = commandError(command)
  return error === undefined ? 0 : exitCode(error)
}

/** Error of a command that has ended; undefined for a success, and while its outcome is open. */
export const commandError = ({ state }: SentCommand): ErrorCode | undefined =>
  isOpen(state) || state === 'succeeded' ? undefined : (ENDS[state] ?? 'internal')

/** The program call that waits for the outcome of a command. */
export const waitForCommand = ({ id }: Pick<SentCommand, 'id'>): string =>
  `shoal commands show ${escapeHidden(id)} --wait`
