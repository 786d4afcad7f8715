import fc from 'fast-check'
import t from 'tap'
import { CsvScanner } from '../../../../coordinator/kernel/base/csv-scanner.ts'
import {
  formatCsvRow,
  guardFormula,
  unguardFormula,
} from '../../../../coordinator/kernel/base/format-csv.ts'

t.test('a scanner reads the cells that were formatted, also across pieces', async t => {
  const cells = ['', 'plain', 'a,b', 'say "hi"', 'two\nlines', 'Ü✓']
  const scanner = new CsvScanner(1000)
  const rows = [...formatCsvRow(cells)].flatMap(char => [...scanner.scan(char)])
  t.strictSame(rows, [{ line: 1, cells }])
})

t.test('a guarded formula reads back as it was, wherever it begins', async t => {
  const text = fc.string({ unit: fc.constantFrom(...["'", '=', '-', ';', '\t', '\n', 'a', '＝']) })
  const readsBack = (cell: string) => unguardFormula(guardFormula(cell)) === cell
  fc.assert(fc.property(text, readsBack))
  t.equal(guardFormula('=1+1'), "'=1+1")
  t.equal(guardFormula('\tx'), "'\tx")
  t.equal(guardFormula('low;=cmd();-1;a-b'), "low;'=cmd();'-1;a-b")
  t.equal(guardFormula('a\r\n@x\t+1'), "a\r\n'@x\t'+1")
  t.equal(guardFormula('a;b'), 'a;b')
})

/** Cells that a reader sees who separates by `separator`, with and without notice of quotes. */
const readCells = (row: string, separator: string): string[] => {
  const quoted = new RegExp(`(?<=^|[${separator}\\r\\n])"((?:[^"]|"")*)"`, 'g')
  return [
    ...row.split(new RegExp(`[${separator}\\r\\n]`)),
    ...[...row.matchAll(quoted)].map(match => match[1] ?? ''),
  ]
}

const HIDING = /^[\s"\0\u200b]*/

t.test('no text becomes a formula where another character separates', async t => {
  for (const hidden of ['"=', ' =', '""=', ' " =', '\u00a0=', '\0=', '\u200b@', '"\'"=', '＝'])
    for (const separator of [';', '\t', '|', '\n', '\u2028'])
      t.equal(guardFormula(`low${separator}${hidden}cmd`), `low${separator}'${hidden}cmd`)
  const text = fc.string({ unit: fc.constantFrom(...'"\'=- ;|\t\na') })
  const staysText = (texts: string[]) =>
    [',', ';', '|', '\t'].every(separator =>
      readCells(formatCsvRow(texts.map(guardFormula)), separator).every(
        cell => !/^[=@+-]/.test(cell.replace(HIDING, '')),
      ),
    )
  fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), staysText))
  t.match(formatCsvRow(['x', 'a|b'].map(guardFormula)), 'x,"a|b"', 'such a cell is quoted')
})
