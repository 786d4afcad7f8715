import t from 'tap'
import * as z from 'zod'
import { limitJson } from '../../../../coordinator/kernel/declaration/bounded-json.ts'

t.test('a very long list is measured like any other value', async t => {
  const list = new Array(300_000).fill(0)
  t.ok(limitJson(z.unknown(), 1_000_000).safeParse(list).success)
  t.match(limitJson(z.unknown(), 1000).safeParse(list), { success: false })
})
