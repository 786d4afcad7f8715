import fc from 'fast-check'
import {
  ardupilotmega,
  common,
  MavLinkPacketSignature,
  MavLinkProtocolV1,
  MavLinkProtocolV2,
  minimal,
} from 'node-mavlink'
import t from 'tap'
import { calculateCrc } from '../../../devices/links/mavlink/crc.ts'
import type { FieldType } from '../../../devices/links/mavlink/field-types.ts'
import { encodeFrame, parseFrames } from '../../../devices/links/mavlink/frame.ts'
import { decodePayload, type Message } from '../../../devices/links/mavlink/message.ts'
import { HEARTBEAT, MESSAGES, STATUSTEXT } from '../../../devices/links/mavlink/messages.ts'

const HEAD = { sequence: 7, systemId: 3, componentId: 1, version: 2 } as const
const BEAT = { type: 2, autopilot: 3, base_mode: 217, custom_mode: 4, system_status: 4 }

const NUMBERS: Record<string, fc.Arbitrary<number>> = {
  uint8_t: fc.integer({ min: 0, max: 0xff }),
  int8_t: fc.integer({ min: -0x80, max: 0x7f }),
  uint16_t: fc.integer({ min: 0, max: 0xffff }),
  int16_t: fc.integer({ min: -0x8000, max: 0x7fff }),
  uint32_t: fc.integer({ min: 0, max: 0xffff_ffff }),
  int32_t: fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }),
  uint64_t: fc.maxSafeNat(),
  float: fc.float({ noNaN: true }).map(value => value + 0),
}

/** Values of a field in the range of its type. */
const arbitraryFor = (type: FieldType): fc.Arbitrary<number | string | number[]> => {
  const [element = '', length] = type.split(/[[\]]/)
  const count = Number(length)
  if (element === 'char') return fc.stringMatching(/^[a-zA-Z ]*$/, { maxLength: count })
  const number = NUMBERS[element] ?? fc.constant(0)
  return length === undefined ? number : fc.array(number, { minLength: count, maxLength: count })
}

const arbitraryValues = ({ fields }: Message) =>
  fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, arbitraryFor(type)])),
    { noNullPrototype: true },
  )

/** MAVLink 1 carries no extensions: their values would not come back. */
const versionsOf = ({ extensions }: Message): fc.Arbitrary<1 | 2> =>
  extensions === 0 ? fc.constantFrom(1, 2) : fc.constant(2)

/** Checksum of a definition, as the MAVLink guide has it under "CRC_EXTRA Calculation". */
const crcExtraOf = ({ name, fields, extensions }: Message): number => {
  const types = Object.entries(fields)
  const bytes = [...Buffer.from(`${name} `)]
  for (const [field, type] of types.slice(0, types.length - extensions)) {
    const [element = '', length] = type.split(/[[\]]/)
    bytes.push(...Buffer.from(`${element} ${field} `))
    if (length !== undefined) bytes.push(Number(length))
  }
  const crc = calculateCrc(Uint8Array.from(bytes))
  return (crc & 0xff) ^ (crc >> 8)
}

t.test('the checksum is CRC-16/MCRF4XX', async t => {
  t.equal(calculateCrc(Buffer.from('123456789')), 0x6f91)
})

for (const message of MESSAGES.values())
  t.test(`${message.name} has the CRC_EXTRA of its fields, and node-mavlink agrees`, async t => {
    t.equal(crcExtraOf(message), message.crcExtra)
    const Peer =
      common.REGISTRY[message.id] ??
      minimal.REGISTRY[message.id] ??
      ardupilotmega.REGISTRY[message.id]
    if (Peer === undefined) return t.fail('node-mavlink has no such message')
    t.equal(Peer.MAGIC_NUMBER, message.crcExtra)
    fc.assert(
      fc.property(arbitraryValues(message), versionsOf(message), (values, version) => {
        const ours = encodeFrame(message, values, { ...HEAD, version })
        const peer = version === 1 ? new MavLinkProtocolV1(3, 1) : new MavLinkProtocolV2(3, 1)
        t.equal(peer.crc(ours), ours.readUInt16LE(ours.length - 2))
        const data = peer.data(peer.payload(ours), Peer)
        const [frame] = parseFrames(peer.serialize(data, HEAD.sequence))
        if (frame === undefined) return false
        t.match(frame, { ...HEAD, version, messageId: message.id })
        t.strictSame(decodePayload(message, frame.payload), values)
        return true
      }),
      { numRuns: 50 },
    )
  })

t.test('a signed frame of MAVLink 2 is read without its signature', async t => {
  const peer = new MavLinkProtocolV2(3, 1, MavLinkProtocolV2.IFLAG_SIGNED)
  const text = Object.assign(new common.StatusText(), { severity: 4, text: 'Low battery' })
  const signed = peer.sign(peer.serialize(text, 1), 0, MavLinkPacketSignature.key('invented'))
  const frames = parseFrames(Buffer.concat([signed, signed]))
  t.equal(frames.length, 2)
  t.match(decodePayload(STATUSTEXT, frames[1]?.payload ?? Buffer.of()), { text: 'Low battery' })
})

t.test('a frame with an incompatibility flag that is unknown here is discarded', async t => {
  const bytes = encodeFrame(HEARTBEAT, BEAT, HEAD)
  bytes[2] = 0x02
  t.strictSame(parseFrames(bytes), [])
})

t.test('a frame of a message without a definition is kept, unverified', async t => {
  const unknown = Buffer.from('fd0100000903011027000100 00'.replace(' ', ''), 'hex')
  const frames = parseFrames(unknown)
  t.match(frames, [{ messageId: 0x2710, sequence: 9, message: undefined }])
})

t.test('no damaged frame is accepted, and the frames around it are', async t => {
  const frame = encodeFrame(HEARTBEAT, BEAT, HEAD)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: frame.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      (at, change) => {
        const damaged = Buffer.from(frame)
        damaged[at] = (damaged[at] ?? 0) ^ change
        const alone = parseFrames(damaged).filter(({ message }) => message === HEARTBEAT)
        t.strictSame(alone, [])
        t.ok(parseFrames(Buffer.concat([frame, damaged])).length >= 1)
        return true
      },
    ),
    { numRuns: 200 },
  )
  const frames = parseFrames(Buffer.concat([Buffer.from('noise'), frame, frame]))
  t.equal(frames.length, 2)
})

t.test('a truncated frame and random bytes never raise an error', async t => {
  const frame = encodeFrame(HEARTBEAT, BEAT, HEAD)
  for (let end = 0; end < frame.length; end++) t.strictSame(parseFrames(frame.subarray(0, end)), [])
  const marker = fc.constantFrom(0xfd, 0xfe)
  const noise = fc.tuple(marker, fc.uint8Array({ maxLength: 600 }))
  fc.assert(
    fc.property(noise, ([first, rest]) => {
      const frames = parseFrames(Uint8Array.of(first, ...rest))
      for (const { message, payload } of frames)
        if (message !== undefined) decodePayload(message, payload)
      return frames.length <= 100
    }),
    { numRuns: 500 },
  )
})
