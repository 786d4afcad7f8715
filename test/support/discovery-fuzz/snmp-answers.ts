import type { Random } from '../random.ts'

/** Tags of BER that a message of SNMP uses (RFC 3416, 3; RFC 2578, 7.1). */
const [INTEGER, OCTETS, NULL, OBJECT, SEQUENCE] = [0x02, 0x04, 0x05, 0x06, 0x30]
const [IP_ADDRESS, COUNTER, TICKS, COUNTER_64] = [0x40, 0x41, 0x43, 0x46]
const [NO_SUCH_OBJECT, END_OF_VIEW] = [0x80, 0x82]
const [GET, RESPONSE, REPORT] = [0xa0, 0xa2, 0xa8]

const encode = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 0x80
      ? Buffer.of(body.length)
      : Buffer.of(0x82, body.length >> 8, body.length & 255)
  return Buffer.concat([Buffer.of(tag), length, body])
}

interface Element {
  tag: number
  body: Buffer
}

/** Elements one after another; requests of the library are well formed. */
const decode = (bytes: Buffer): Element[] => {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] as number
    const first = bytes[at + 1] as number
    const size = first < 0x80 ? 0 : first & 0x7f
    const length = size === 0 ? first : bytes.readUIntBE(at + 2, size)
    const start = at + 2 + size
    elements.push({ tag, body: bytes.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

/** An answer to a request of version 2c, or the report of an engine to one of version 3. */
export const answerRequest = (request: Buffer, random: Random): Buffer => {
  const [message] = decode(request)
  const [version, second, third] = decode(message?.body ?? Buffer.alloc(0))
  if (version?.body[0] === 3) return reportEngine(second as Element, random)
  const { tag, body } = third as Element
  const [id, , , list] = decode(body)
  const names = decode((list as Element).body).map(each => decode(each.body)[0]?.body as Buffer)
  const variables = names.flatMap(name =>
    tag === GET ? [createVariable(name, random)] : createRows(name, random),
  )
  return encode(
    SEQUENCE,
    encode(INTEGER, Buffer.of(1)),
    encode(OCTETS, Buffer.from('public')),
    encode(
      RESPONSE,
      encode(INTEGER, (id as Element).body),
      encode(INTEGER, Buffer.of(0)),
      encode(INTEGER, Buffer.of(0)),
      encode(SEQUENCE, ...variables),
    ),
  )
}

/** Objects after a name: mostly rows of the same column, in order. */
const createRows = (name: Buffer, random: Random): Buffer[] => {
  const count = random.randomBelow(6)
  return Array.from({ length: count }, (_, at) =>
    createVariable(Buffer.concat([name, Buffer.of(at + 1)]), random),
  )
}

const createVariable = (name: Buffer, random: Random): Buffer =>
  encode(SEQUENCE, encode(OBJECT, name), createValue(random))

const bytesOf = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.randomBelow(256)))

const VALUES: readonly ((random: Random) => Buffer)[] = [
  random => encode(INTEGER, bytesOf(random, 1 + random.randomBelow(4))),
  random => encode(INTEGER, Buffer.of(random.randomBelow(25))),
  random => encode(OCTETS, bytesOf(random, random.randomBelow(40))),
  () => encode(OCTETS, Buffer.from('Büro 2')),
  random => encode(OCTETS, bytesOf(random, 6)),
  // sysObjectID, hrStorageRam and hrDevicePrinter
  () => encode(OBJECT, Buffer.from('2b060104018fe10801', 'hex')),
  () => encode(OBJECT, Buffer.from('2b06010201190102', 'hex')),
  () => encode(OBJECT, Buffer.from('2b060102011903010', 'hex')),
  random => encode(IP_ADDRESS, bytesOf(random, 4)),
  random => encode(COUNTER, bytesOf(random, 1 + random.randomBelow(5))),
  random => encode(TICKS, bytesOf(random, 4)),
  random => encode(COUNTER_64, bytesOf(random, 1 + random.randomBelow(9))),
  () => encode(NULL),
  () => encode(NO_SUCH_OBJECT),
  () => encode(END_OF_VIEW),
]

const createValue = (random: Random): Buffer => random.pick(VALUES)(random)

/** usmStatsUnknownEngineIDs.0 (RFC 3414, 3.2): the report that names the engine. */
const UNKNOWN_ENGINE = Buffer.from('2b060106030f01010400', 'hex')

const reportEngine = (header: Element, random: Random): Buffer => {
  const [id] = decode(header.body)
  const engine = encode(
    OCTETS,
    Buffer.from('80001f88', 'hex'),
    bytesOf(random, random.randomBelow(32)),
  )
  const zero = encode(INTEGER, Buffer.of(0))
  const empty = encode(OCTETS)
  return encode(
    SEQUENCE,
    encode(INTEGER, Buffer.of(3)),
    encode(
      SEQUENCE,
      encode(INTEGER, (id as Element).body),
      encode(INTEGER, Buffer.of(0, 0xff, 0xff)),
      encode(OCTETS, Buffer.of(0)),
      encode(INTEGER, Buffer.of(3)),
    ),
    encode(OCTETS, encode(SEQUENCE, engine, zero, zero, empty, empty, empty)),
    encode(
      SEQUENCE,
      engine,
      empty,
      encode(
        REPORT,
        ...[zero, zero, zero],
        encode(
          SEQUENCE,
          encode(SEQUENCE, encode(OBJECT, UNKNOWN_ENGINE), encode(COUNTER, Buffer.of(1))),
        ),
      ),
    ),
  )
}
