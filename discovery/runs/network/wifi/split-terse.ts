/**
 * Fields of a line of `nmcli --terse --escape yes`: colons separate fields, and a backslash stands
 * before a colon or backslash that belongs to a value (manual page nmcli(1), option `--escape`).
 */
export const splitTerse = (line: string): string[] => {
  const fields: string[] = []
  let field = ''
  for (let at = 0; at < line.length; at++) {
    const letter = line[at] as string
    if (letter === '\\' && at + 1 < line.length) field += line[++at]
    else if (letter === ':') {
      fields.push(field)
      field = ''
    } else field += letter
  }
  return [...fields, field]
}
