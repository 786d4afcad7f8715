import fc from 'fast-check'
import t from 'tap'
import { CsvScanner } from '../../../coordinator/base/csv-scanner.ts'
import { formatCsvRow, guardFormula, unguardFormula } from '../../../coordinator/base/format-csv.ts'

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

t.test('no cell of a row becomes a formula where semicolons separate', async t => {
  const row = formatCsvRow(['x', 'a;=1', '-2', 'b\n=3'].map(guardFormula))
  const cells = row.split(/[;\r\n]/).map(cell => cell.trim())
  t.notOk(
    cells.some(cell => /^["']*[=@+-]/.test(cell) && !cell.startsWith("'")),
    row,
  )
  t.match(row, /,"a;'=1",/, 'a cell with a semicolon is quoted')
})
