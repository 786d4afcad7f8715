import { MAX_RECORD_CHARS } from './file-format.ts'

/** Lines of a text in pieces, counted from 1; a longer one than any record is cut. */
export async function* readLines(
  text: AsyncIterable<string>,
): AsyncGenerator<{ line: number; text: string }> {
  let line = 1
  let rest = ''
  for await (const piece of text) {
    const lines = `${rest}${piece}`.split('\n')
    rest = (lines.pop() ?? '').slice(0, MAX_RECORD_CHARS + 1)
    for (const each of lines) yield { line: line++, text: withoutReturn(each) }
  }
  if (rest !== '') yield { line, text: withoutReturn(rest) }
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)
