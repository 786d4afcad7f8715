import t from 'tap'
import { AnonymousLimit } from '../../../../coordinator/surfaces/http/anonymous-limit.ts'

const REFUSED = { code: 'rate_limited' }

t.test('an address at its bound is not forgotten after requests of many others', async t => {
  const limit = new AnonymousLimit(5, () => 0)
  for (let n = 0; n < 5; n++) limit.count('10.0.0.1')
  t.throws(() => limit.count('10.0.0.1'), REFUSED)
  for (let n = 0; n < 30_000; n++) limit.count(`10.1.${n >> 8}.${n & 255}`)
  t.throws(() => limit.count('10.0.0.1'), REFUSED)
})

t.test('a site of IPv6 has a bound over all its networks', async t => {
  let nowMs = 0
  const limit = new AnonymousLimit(5, () => nowMs)
  const address = (site: string, n: number): string => `2001:db8:${site}:${n.toString(16)}::1`
  for (let n = 0; n < 80; n++) limit.count(address('1', n))
  t.throws(() => limit.count(address('1', 80)), REFUSED)
  t.throws(() => limit.check(address('1', 81)), REFUSED)
  limit.count(address('2', 1))
  nowMs = 60_000
  for (let n = 0; n < 80; n++) limit.count(address('1', n))
})
