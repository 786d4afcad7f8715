import t, { type Test } from 'tap'
import bleScan from '../../../../discovery/modules/network/ble-scan.ts'
import { classifyAddress } from '../../../../discovery/runs/network/ble/classify-address.ts'
import { HeardDevices } from '../../../../discovery/runs/network/ble/heard-devices.ts'
import { readBtHome } from '../../../../discovery/runs/network/ble/read-bthome.ts'
import { readEddystone } from '../../../../discovery/runs/network/ble/read-eddystone.ts'
import run from '../../../../discovery/runs/network/ble-scan.ts'
import { fuzzBle } from '../../../support/discovery-fuzz/ble.ts'
import {
  encodeExtendedPacket,
  installController,
  legacyPacket,
  type Report,
} from '../../../support/hci-controller.ts'
import { createScanContext, listRows } from '../../../support/scan-context.ts'

const MAX_ADDRESSES = 8192
const MAX_DEVICES = 1024

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

const scan = async (t: Test, packets: Uint8Array[], isExtended = false) => {
  t.teardown(installController({ packets, isExtended }))
  const context = createScanContext({ config: { is_simulated: true } })
  return listRows(bleScan, run({ timeout: 1 }, context))
}

const THERMOMETER: Report = {
  address: '38:c1:a4:93:0d:02',
  isRandom: false,
  rssi: -77,
  // flags, name, BTHome with battery 87 %, 21.5 degrees and motion
  data: hex('020106 0809 6b69746368656e 0b16d2fc40 0157 026608 2101'),
}
const BEACON: Report = {
  address: 'c0:00:00:00:00:01',
  isRandom: true,
  rssi: -61,
  data: hex('1aff4c000215 00112233445566778899aabbccddeeff 0001 0203 c5'),
}

t.test('ble-scan decodes what an emulated controller delivers', async t => {
  const uid = {
    ...BEACON,
    address: '40:00:00:00:00:09',
    data: hex('1516aafe00e8 00010203040506070809 0a0b0c0d0e0f'),
  }
  const url = { ...uid, data: hex('0a16aafe10e80361626307') }
  for (const isExtended of [false, true])
    await t.test(isExtended ? 'of Bluetooth 5' : 'of Bluetooth 4', async t => {
      const toPacket = isExtended ? encodeExtendedPacket : legacyPacket
      const packets = [THERMOMETER, { ...THERMOMETER, rssi: -90 }, BEACON, uid, url].map(toPacket)
      const rows = await scan(t, packets, isExtended)
      t.ok(rows.every(row => row.is_simulated))
      t.match(rows[0], {
        address: THERMOMETER.address,
        address_kind: 'public',
        rssi_dbm: -77,
        advertisements: 2,
        battery_percent: 87,
        bthome: { measurements: { temperature_c: 21.5, motion: true, battery_percent: 87 } },
        services: [{ uuid: 'fcd2', name: 'BTHome' }],
      })
      t.match(rows[1], {
        address_kind: 'static',
        company_id: 0x4c,
        company: /Apple/,
        ibeacon: {
          uuid: '00112233-4455-6677-8899-aabbccddeeff',
          major: 1,
          minor: 0x0203,
          power_at_1m_dbm: -59,
        },
      })
      t.match(rows[2]?.eddystone, [
        { frame: 'uid', namespace: '00010203040506070809', instance: '0a0b0c0d0e0f' },
        { frame: 'url', url: 'https://abc.com' },
      ])
    })
})

t.test('ble-scan says why it is not possible on a machine without an adapter', async t => {
  const remove = installController({ packets: [] })
  t.teardown(remove)
  remove()
  const rows = listRows(bleScan, run({ timeout: 1 }, createScanContext({})))
  await t.rejects(rows, { name: 'NotPossibleHere', message: /Bluetooth/ })
})

t.test('a random address is no key, and what is simulated is no sighting', async t => {
  const rows = await scan(t, [THERMOMETER, BEACON].map(legacyPacket))
  const observe = (row: object | undefined) =>
    bleScan.observe?.({ ...row, is_simulated: false } as never, { cellId: 'cell-1' }) ?? []
  t.match(observe(rows[0]), [
    {
      keys: [{ kind: 'ble_public_address', value: THERMOMETER.address }],
      facts: { battery_percent: 87, signal_dbm: -77 },
    },
  ])
  t.strictSame(observe(rows[1]), [])
  t.strictSame(bleScan.observe?.(rows[0] as never, { cellId: 'cell-1' }), [])
})

t.test('addresses are told apart by their top bits', t => {
  for (const [address, isRandom, kind] of [
    ['c0:00:00:00:00:01', true, 'static'],
    ['ff:00:00:00:00:01', true, 'static'],
    ['40:00:00:00:00:01', true, 'resolvable'],
    ['7f:00:00:00:00:01', true, 'resolvable'],
    ['00:00:00:00:00:01', true, 'non_resolvable'],
    ['80:00:00:00:00:01', true, 'unknown'],
    ['38:c1:a4:93:0d:02', false, 'public'],
    ['3a:c1:a4:93:0d:02', false, 'unknown'],
    ['00:00:00:00:00:00', false, 'unknown'],
  ] as const)
    t.equal(classifyAddress(address, isRandom), kind, `${address} ${isRandom}`)
  t.end()
})

t.test('frames that are cut off or encrypted are not guessed', t => {
  t.equal(readEddystone(hex('00e80001')), undefined)
  t.match(readEddystone(hex('2000 0bb8 1580 00000001 0000000a')), {
    ...{ frame: 'tlm', battery_mv: 3000, temperature_c: 21.5, uptime_s: 1 },
  })
  t.match(readEddystone(hex('2000 0000 8000 00000001 0000000a')), {
    ...{ battery_mv: null, temperature_c: null },
  })
  t.match(readBtHome(hex('41 0157 0266')), { is_encrypted: true, measurements: {} })
  t.strictSame(readBtHome(hex('40 02ca09 02ff'))?.measurements, { temperature_c: 25.06 })
  t.strictSame(readBtHome(hex('40 4511ff 45d200 ee01'))?.measurements, {
    temperature_c: -23.9,
    temperature_c_2: 21,
  })
  t.end()
})

t.test('a scan among invented addresses ends, with a bounded number of devices', t => {
  let isFull = false
  const devices = new HeardDevices(() => {
    isFull = true
  })
  const heard = { isRandom: true, isConnectable: null, rssi_dbm: null, tx_power_dbm: null }
  const empty = { name: undefined, manufacturerData: undefined, serviceData: [], serviceUuids: [] }
  for (let at = 0; at < MAX_ADDRESSES; at++)
    devices.hear({ ...heard, ...empty, address: at.toString(16) })
  t.ok(isFull)
  t.equal([...devices.devices].length, MAX_DEVICES)
  t.equal(devices.leftOut, MAX_ADDRESSES - MAX_DEVICES)
  t.end()
})

t.test('invented advertisements end nothing, and give rows as declared', async t => {
  for (const isExtended of [false, true]) {
    const { heard, rows, fault } = await fuzzBle(5000, 7, isExtended)
    t.equal(fault, undefined)
    t.ok(heard > 2000, `${heard} heard`)
    t.ok(rows > 100, `${rows} devices`)
  }
})
