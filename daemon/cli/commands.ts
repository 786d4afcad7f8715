import type { DaemonCommand } from './command.ts'
import { DOCTOR_HELP, doctorCommand } from './doctor.ts'
import { JOIN_HELP, joinCommand } from './join.ts'
import { LEAVE_HELP, leaveCommand } from './leave.ts'

/** What `shoald` does besides running; without a word it runs. */
export const commands: ReadonlyMap<string, DaemonCommand> = new Map([
  ['join', joinCommand],
  ['leave', leaveCommand],
  ['doctor', doctorCommand],
])

export const COMMANDS_HELP = [JOIN_HELP, LEAVE_HELP, DOCTOR_HELP].join('\n')
