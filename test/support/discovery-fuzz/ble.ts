import bleScan from '../../../discovery/modules/network/ble-scan.ts'
import { HeardDevices } from '../../../discovery/runs/network/ble/heard-devices.ts'
import { createNobleBackend } from '../../../discovery/runs/network/ble/noble-backend.ts'
import {
  encodeExtendedPacket,
  installController,
  legacyPacket,
  type Report,
} from '../hci-controller.ts'
import { type Random, randomOf } from '../random.ts'
import { checkRows, type FuzzResult } from './fuzz-result.ts'

/** Beginnings that lead into each decoder, and what follows is random. */
const HEADS = [
  ...['4c000215', '4c001219', '060003', 'aafe00', 'aafe10', 'aafe20', 'aafe30', 'd2fc40'],
  ...['d2fc41', '2cfe', '0f18', '', 'ff', '4c00'],
].map(hex => Buffer.from(hex, 'hex'))
const TYPES = [0xff, 0x16, 0x16, 0x21, 0x20, 0x02, 0x03, 0x07, 0x08, 0x09, 0x0a, 0x14, 0x15, 0x1f]

/** Fields of an advertisement; a length may lie, and a field may be cut off. */
const createData = ({ randomBelow: random }: Random): Buffer => {
  const fields = Array.from({ length: random(4) }, () => {
    const head = random(3) === 0 ? Buffer.alloc(0) : (HEADS[random(HEADS.length)] as Buffer)
    const rest = Buffer.from(Array.from({ length: random(20) }, () => random(256)))
    const type = random(5) === 0 ? random(256) : (TYPES[random(TYPES.length)] as number)
    const length = random(10) === 0 ? random(256) : head.length + rest.length + 1
    return Buffer.concat([Buffer.from([length, type]), head, rest])
  })
  return Buffer.concat(fields).subarray(0, random(8) === 0 ? random(40) : 229)
}

function* createPackets(count: number, isExtended: boolean, given: Random): Iterable<Uint8Array> {
  const random = given.randomBelow
  for (let at = 0; at < count; at++) {
    const address = `${random(256).toString(16).padStart(2, '0')}:00:00:00:00:${random(8).toString(16).padStart(2, '0')}`
    const data = createData(given)
    const report: Report = {
      address,
      isRandom: random(2) === 0,
      rssi: random(256),
      data,
      type: random(8),
    }
    const packet = isExtended ? encodeExtendedPacket(report) : legacyPacket(report)
    yield random(20) === 0 ? packet.subarray(0, 2 + random(packet.length)) : packet
  }
}

/** Sends invented advertisements through the real code of the library and the decoders. */
export const fuzzBle = async (
  count: number,
  seed: number,
  isExtended: boolean,
): Promise<FuzzResult> => {
  const end = new AbortController()
  const packets = createPackets(count, isExtended, randomOf(seed))
  const remove = installController({ isExtended, packets, onEnd: () => end.abort() })
  const warn = console.warn
  console.warn = () => {}
  let heard = 0
  const devices = new HeardDevices(() => end.abort())
  try {
    await createNobleBackend(undefined).listen(
      each => {
        heard++
        devices.hear(each)
      },
      { timeoutMs: 3_600_000, signal: end.signal },
    )
  } finally {
    console.warn = warn
    remove()
  }
  const rows = [...devices.devices].map(device => device.toRow(true))
  return { heard, ...checkRows(bleScan, rows) }
}
