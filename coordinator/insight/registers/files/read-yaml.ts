import { parseDocument } from 'yaml'
import { type FileEntry, MAX_RECORD_CHARS } from './file-format.ts'

/**
 * Records of a YAML file: a block sequence at the left margin with one record per `- `. Each item
 * is parsed by itself, so that the size of the file does not matter; aliases are refused.
 */
export async function* readYaml(text: AsyncIterable<string>): AsyncGenerator<FileEntry> {
  let item: string[] = []
  let start = 0
  let chars = 0
  for await (const { line, text: content } of readLines(text)) {
    const isItem = content.startsWith('- ') || content === '-'
    if (isItem && item.length > 0) yield parseItem(item, start)
    if (isItem) {
      item = [content]
      start = line
      chars = 0
    } else if (item.length > 0 && /^(\s|#|$)/.test(content)) item.push(content)
    else if (!/^(\s*#|\s*$|---|\.\.\.|%)/.test(content))
      return yield { line, fault: 'the file must be a list with one record per "- " at the margin' }
    chars += content.length
    if (chars > MAX_RECORD_CHARS) return yield { line: start, fault: 'the record is too long' }
  }
  if (item.length > 0) yield parseItem(item, start)
}

/**
 * Limits of one record, far above what any register needs. The parser takes quadratic time for the
 * keys of a map, and overflows the stack in deep nesting.
 */
const MAX_SEPARATORS = 1000
const MAX_BRACKETS = 100
const MAX_TAGS = 100
/** `- - - …` and `? ? ? …` nest on one line. */
const NESTED_MARKERS = /([-?:]\s+){16}/

const findExcess = (text: string): string | undefined => {
  if (countOf(text, /[,\n]/g) > MAX_SEPARATORS) return `has over ${MAX_SEPARATORS} parts`
  if (countOf(text, /[[{]/g) > MAX_BRACKETS || NESTED_MARKERS.test(text))
    return 'is nested too deeply'
  return countOf(text, /!/g) > MAX_TAGS ? 'has too many tags' : undefined
}

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

const parseItem = (lines: readonly string[], line: number): FileEntry => {
  const text = lines.join('\n').trimEnd()
  const excess = findExcess(text)
  if (excess !== undefined) return { line, fault: `the record ${excess}` }
  const document = parseDocument(text, { logLevel: 'silent', version: '1.2' })
  const [error] = document.errors
  if (error !== undefined) {
    const offset = error.linePos?.[0].line ?? 1
    return { line: line + offset - 1, fault: withoutPlace(error.message).slice(0, 200) }
  }
  try {
    const [value] = document.toJS({ maxAliasCount: 0 }) as unknown[]
    return { line, value }
  } catch {
    return { line, fault: 'aliases are not supported' }
  }
}

/** First line of a message of the parser, without the place, which counts from the record. */
const withoutPlace = (message: string): string =>
  (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '')

/** Lines of a text in pieces, counted from 1; a longer one than any record is cut. */
async function* readLines(
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
