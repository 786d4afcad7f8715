import type { CommandHelp, DaemonCommand } from './command.ts'
import { DEVICES_HELP, devicesCommand } from './devices.ts'
import { DOCTOR_HELP, doctorCommand } from './doctor.ts'
import { ESTOP_HELP, estopCommand } from './estop.ts'
import { JOIN_HELP, joinCommand } from './join.ts'
import { LEAVE_HELP, leaveCommand } from './leave.ts'

export interface CliCommand {
  run: DaemonCommand
  help: CommandHelp
}

/** Commands of `shoald`; without one it runs the daemon. */
export const commands: ReadonlyMap<string, CliCommand> = new Map([
  ['join', { run: joinCommand, help: JOIN_HELP }],
  ['leave', { run: leaveCommand, help: LEAVE_HELP }],
  ['doctor', { run: doctorCommand, help: DOCTOR_HELP }],
  ['devices', { run: devicesCommand, help: DEVICES_HELP }],
  ['estop', { run: estopCommand, help: ESTOP_HELP }],
])

const all = [...commands.values()].map(({ help }) => help)
const width = Math.max(...all.map(({ usage }) => usage.length)) + 2

/** Commands in the program's own help. */
export const COMMANDS_HELP = [
  'Commands, each with its own --help:',
  ...all.map(({ usage, summary }) => `  ${usage.padEnd(width)}${summary}`),
].join('\n')

export const commandHelp = ({ usage, summary, flags }: CommandHelp): string =>
  [
    `Usage: ${usage} [--config FILE.yaml] [--KEY VALUE ...]`,
    '',
    summary,
    '',
    ...flags.map(flag => `  ${flag}`),
    '',
    'The keys are those of the daemon: shoald --help lists them.',
    '',
  ].join('\n')
