import t from 'tap'
import { fuzzMdns } from '../../support/discovery-fuzz/mdns.ts'
import { fuzzSnmp } from '../../support/discovery-fuzz/snmp.ts'
import { fuzzWifi } from '../../support/discovery-fuzz/wifi.ts'

for (const [name, fuzz, count] of [
  ['packets of multicast DNS', fuzzMdns, 5000],
  ['answers of SNMP agents', fuzzSnmp, 2000],
  ['lines of nmcli', fuzzWifi, 5000],
] as const)
  t.test(`invented ${name} end nothing, and give rows as declared`, async t => {
    const { heard, rows, fault } = await fuzz(count, 7)
    t.equal(fault, undefined)
    t.ok(heard > count / 4, `${heard} of ${count} read`)
    t.ok(rows > 50, `${rows} rows`)
  })
