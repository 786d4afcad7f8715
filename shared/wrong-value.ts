/** What the library of commands says of a wrong value, in the words of a person. */
const WRONG_OPTION = /^option '(.*)' argument '(.*)' is invalid\. (.*?)\.?$/s
const WRONG_ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*?)\.?$/s

/** `--tier <tier> cannot be 'gold': allowed choices are …`; other lines stay as they are. */
export const wrongValue = (line: string): string => {
  const [, flags, given, why = ''] = WRONG_OPTION.exec(line) ?? []
  if (flags !== undefined) return `${flags} cannot be '${given}': ${lowerFirst(why)}`
  const [, word, name, reason = ''] = WRONG_ARGUMENT.exec(line) ?? []
  return name === undefined ? line : `<${name}> cannot be '${word}': ${lowerFirst(reason)}`
}

/** A word in capitals, such as JSON, stays as it is. */
const lowerFirst = (text: string): string =>
  text.replace(/^[A-Z](?![A-Z])/, letter => letter.toLowerCase())
