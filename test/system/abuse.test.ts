import t from 'tap'
import { main as proveAbuse } from '../prove/abuse.ts'

/** The full size of this test is `npm run prove -- abuse`. */
t.test('hostile clients and cells cost an honest client no request', async t => {
  t.ok(await proveAbuse(['--small', '--seconds', '1']))
})
