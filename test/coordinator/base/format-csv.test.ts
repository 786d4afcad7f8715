import t from 'tap'
import { CsvScanner } from '../../../coordinator/base/csv-scanner.ts'
import { formatCsvRow, guardFormula, unguardFormula } from '../../../coordinator/base/format-csv.ts'

t.test('a scanner reads the cells that were formatted, also across pieces', async t => {
  const cells = ['', 'plain', 'a,b', 'say "hi"', 'two\nlines', 'Ü✓']
  const scanner = new CsvScanner(1000)
  const rows = [...formatCsvRow(cells)].flatMap(char => [...scanner.scan(char)])
  t.strictSame(rows, [{ line: 1, cells }])
})

t.test('a guarded formula reads back as it was, whatever apostrophes it begins with', async t => {
  for (const text of ['=1+1', '+1', '-1', '@x', '\tx', '＝1', "'=1", "''=1", "'plain", 'plain', ''])
    t.equal(unguardFormula(guardFormula(text)), text)
  t.notMatch(guardFormula('=1+1'), /^=/)
})
