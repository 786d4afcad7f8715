import t from 'tap'
import { ownUrlOf } from '../../../../coordinator/insight/services/own-url.ts'

for (const host of ['::', '::1', '127.0.0.1', 'localhost'])
  t.test(`a coordinator that listens on ${host} has an address that can be asked`, async t => {
    t.equal(new URL(ownUrlOf(host, 8080)).port, '8080')
  })
