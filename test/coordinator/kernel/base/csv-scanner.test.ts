import t from 'tap'
import { CsvScanner } from '../../../../coordinator/kernel/base/csv-scanner.ts'

t.test('a scanner reads the same rows whole and character by character', async t => {
  const text = 'id,name\r\n1,"say ""hi"", all"\n\n2,"two\nlines"\n'
  const rows = [
    { line: 1, cells: ['id', 'name'] },
    { line: 2, cells: ['1', 'say "hi", all'] },
    { line: 3, cells: [''] },
    { line: 4, cells: ['2', 'two\nlines'] },
  ]
  t.strictSame([...new CsvScanner(100).scan(text)], rows)
  const scanner = new CsvScanner(100)
  t.strictSame(
    [...text].flatMap(char => [...scanner.scan(char)]),
    rows,
  )
})

t.test('a row that is too long ends the scan at the line where it begins', async t => {
  const scanner = new CsvScanner(10)
  t.equal([...scanner.scan(`a\n"${'x'.repeat(20)}`)].length, 1)
  t.match(scanner, { isTooLong: true, isQuoted: true, startLine: 2 })
})
