import { type Command, Help } from 'commander'

/** Help text of a program with its commands before its flags: the flags are looked up less often. */
export const formatCommandsFirst = (command: Command, helper: Help): string => {
  const text = Help.prototype.formatHelp.call(helper, command, helper)
  if (helper.visibleCommands(command).length === 0) return text
  const parts = text.trimEnd().split('\n\n')
  const flags = parts.filter(isFlags)
  return `${[...parts.filter(part => !isFlags(part)), ...flags].join('\n\n')}\n`
}

const isFlags = (part: string): boolean => part.startsWith('Options:')
