/** Messages of the command library for invalid values. */
const WRONG_OPTION = /^option '(.*)' argument '(.*)' is invalid\. (.*?)\.?$/s
const WRONG_ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*?)\.?$/s

/** Rewords a line as `--tier <tier> cannot be 'gold': allowed choices are …`; other lines pass. */
export const rewordWrongValue = (line: string): string => {
  const [, flags, given, why = ''] = WRONG_OPTION.exec(line) ?? []
  if (flags !== undefined) return `${flags} cannot be '${given}': ${lowerFirst(why)}`
  const [, word, name, reason = ''] = WRONG_ARGUMENT.exec(line) ?? []
  return name === undefined ? line : `<${name}> cannot be '${word}': ${lowerFirst(reason)}`
}

/** Lowers the first letter, except of a word in capitals such as JSON. */
const lowerFirst = (text: string): string =>
  text.replace(/^[A-Z](?![A-Z])/, letter => letter.toLowerCase())
