import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface RegexLiteral {
  source: string
  flags: string
  file: string
}

const ROOT = join(import.meta.dirname, '../..')
/** Folders that read text of outside sources, cells, files and weights. */
const FOLDERS = [
  ...['discovery', 'shared', 'daemon/inference', 'daemon/helper'],
  ...['agents/conversations', 'discovery', 'insight', 'kernel/base', 'kernel/upstreams'].map(
    name => `coordinator/${name}`,
  ),
]
/** A literal stands where a value may begin, and ends on its line. */
const LITERAL =
  /(?:^|[(,=:[!&|?{};>]|\breturn)[ \t]*\/((?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)(?![\w/])/gm

/** Literals of regular expressions in the folders that read foreign text, each once. */
export const listRegexLiterals = (): RegexLiteral[] => {
  const found = new Map<string, RegexLiteral>()
  const files = FOLDERS.flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: ROOT }))
  for (const file of files.toSorted())
    for (const [, source = '', flags = ''] of stripComments(file).matchAll(LITERAL))
      if (isRegex(source, flags)) found.set(`/${source}/${flags}`, { source, flags, file })
  return [...found.values()]
}

const stripComments = (file: string): string =>
  readFileSync(join(ROOT, file), 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '')

const isRegex = (source: string, flags: string): boolean => {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}
