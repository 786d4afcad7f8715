import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkRegex } from '../support/check-regex.ts'
import { listRegexLiterals } from '../support/regex-literals.ts'

const FILE = join(import.meta.dirname, '../lint/regex-growth.json')

/**
 * Checks the growth of every regular expression over foreign text, which takes about ten minutes.
 * `--write` renews the list of those that are proved linear; the reasons for others are by hand.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { write: { type: 'boolean', default: false } } as const
  const { write } = parseArgs({ args: argv, options }).values
  const { bounded } = JSON.parse(readFileSync(FILE, 'utf8')) as { bounded: Record<string, string> }
  const linear: string[] = []
  const others: { literal: string; growth: string; file: string }[] = []
  for (const { source, flags, file } of listRegexLiterals()) {
    const literal = `/${source}/${flags}`
    if (bounded[literal] !== undefined) continue
    const growth = await checkRegex({ source, flags })
    if (growth === 'linear') linear.push(literal)
    else others.push({ literal, growth, file })
  }
  if (others.length > 0) console.table(others)
  if (write) writeFileSync(FILE, `${JSON.stringify({ linear, bounded }, null, 2)}\n`)
  return others.length === 0
}
