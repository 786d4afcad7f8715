import type { Argument, Command } from 'commander'

const examples = new WeakMap<Command, string>()

/** Keeps a call of this command that works. */
export const setExample = (command: Command, text: string): void => {
  examples.set(command, text)
  if (text.includes('--')) command.addHelpText('after', `\nExample:\n  ${text}`)
}

export const commandExample = (command: Command): string | undefined => examples.get(command)

/** A word as a POSIX shell takes it. */
export const quoteWord = (word: string): string =>
  /^[\w./:@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** `shoal cells list` */
export const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

/** `shoal cells` of `shoal cells config set`. */
export const groupOf = (command: Command): Command => {
  const above = command.parent
  return above === null || above.parent === null ? command : groupOf(above)
}

/** Choices that fit into a line of usage. */
const MAX_CHOICES = 8

/** `<cell_id>`, `[name]`, `<text...>`, `<bash|zsh|fish>` */
export const argumentTerm = (argument: Argument): string => {
  const { argChoices: choices = [] } = argument
  const isShort = choices.length > 0 && choices.length <= MAX_CHOICES
  const name = `${isShort ? choices.join('|') : argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}
