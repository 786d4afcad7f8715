import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkRegex } from '../support/check-regex.ts'
import { listRegexLiterals } from '../support/regex-literals.ts'

const { linear, bounded } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'regex-growth.json'), 'utf8'),
) as { linear: string[]; bounded: Record<string, string> }

t.test('regular expressions over foreign text take linear time, or short text', async t => {
  const known = new Set([...linear, ...Object.keys(bounded)])
  const literals = listRegexLiterals()
  t.ok(literals.length > 300, 'the literals of the sources are found')
  for (const { source, flags, file } of literals) {
    const literal = `/${source}/${flags}`
    if (known.has(literal)) continue
    const growth = await checkRegex({ source, flags })
    t.equal(
      growth,
      'linear',
      `${literal} in ${file}: rewrite it, or bound its text and say so in regex-growth.json`,
    )
  }
})

t.test('the check finds the expressions that froze a coordinator', async t => {
  t.match(await checkRegex({ source: '^(a+)+$', flags: '' }), /exponential/)
  t.match(await checkRegex({ source: '/+$', flags: '' }), /2nd degree/)
  t.equal(await checkRegex({ source: '^[a-z]+$', flags: '' }), 'linear')
})
