/** The words of a line as a POSIX shell takes them, the last one perhaps not finished. */
export const splitLine = (line: string): string[] => {
  const words = ['']
  let quote = ''
  for (let i = 0; i < line.length; i++) {
    const char = line[i] ?? ''
    const add = (text: string): void => {
      words.push(`${words.pop() ?? ''}${text}`)
    }
    if (quote !== '' && char === quote) quote = ''
    else if (char === '\\' && quote !== "'") add(line[++i] ?? '')
    else if (quote !== '') add(char)
    else if (char === '"' || char === "'") quote = char
    else if (char !== ' ' && char !== '\t') add(char)
    else if (words.at(-1) !== '') words.push('')
  }
  return words
}
