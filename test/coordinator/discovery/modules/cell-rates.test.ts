import t from 'tap'
import { CellRates } from '../../../../coordinator/discovery/modules/cell-rates.ts'

t.test('a minute that is used up ends, even when the clock is set back', async t => {
  const rates = new CellRates(2)
  const take = (now: number) => rates.take('cell_a', 1, now)
  t.strictSame([take(1e9), take(1e9), take(1e9 + 59_999)], [true, true, false])
  t.ok(take(1e9 + 60_000))
  t.ok(take(1e9 + 60_000))
  t.ok(take(5), 'the clock was set back')
})
