import { type Answer, decode, encode } from 'dns-packet'
import t from 'tap'
import { Browser } from '../../../../discovery/runs/network/mdns/browser.ts'
import { readDeviceFacts } from '../../../../discovery/runs/network/mdns/device-facts.ts'
import type { Link } from '../../../../shared/mdns/links.ts'
import { type MdnsPacket, readPacket } from '../../../../shared/mdns/packet.ts'

const link: Link = {
  name: 'eth0',
  address: '10.9.0.2',
  cidr: '10.9.0.2/24',
  isLoopback: false,
  addresses: ['10.9.0.2'],
}
const TYPE = '_http._tcp.local'
const NAME = `web.${TYPE}`

const pointer = (ttl = 120, data = NAME): Answer => ({ type: 'PTR', name: TYPE, ttl, data })
const service = (ttl = 120): Answer[] => [
  { type: 'SRV', name: NAME, ttl, data: { target: 'web.local', port: 80 } },
  { type: 'TXT', name: NAME, ttl, data: ['model=X1'] },
]
const address = (ttl = 120, data = '10.9.0.3'): Answer => ({
  type: 'A',
  name: 'web.local',
  ttl,
  data,
  flush: true,
})

const respond = (...answers: Answer[]): MdnsPacket =>
  readPacket(encode({ type: 'response', answers })) as MdnsPacket

const createBrowser = () => {
  const browser = new Browser({ links: [link], isAskable: () => true })
  browser.start(0)
  const ask = (now: number): string[] =>
    browser
      .takeQueries(now)
      .flatMap(({ bytes }) => decode(bytes).questions ?? [])
      .map(({ name, type }) => `${type} ${name}`)
  const tell = (now: number, ...answers: Answer[]) => browser.read(respond(...answers), link, now)
  /** A tick, as the scan makes it: questions first, then rows. */
  const tick = (now: number) => {
    ask(now)
    return [...browser.takeReady(now)]
  }
  return { browser, ask, tell, tick }
}

t.test('the first question is for the list of types, then for each type', async t => {
  const { ask, tell } = createBrowser()
  t.strictSame(ask(19), [], 'nothing is sent in the first 20 milliseconds')
  t.strictSame(ask(121), ['PTR _services._dns-sd._udp.local'])
  tell(200, { type: 'PTR', name: '_services._dns-sd._udp.local', ttl: 120, data: TYPE })
  t.strictSame(ask(200), [`PTR ${TYPE}`])
  t.strictSame(ask(1200), ['PTR _services._dns-sd._udp.local', `PTR ${TYPE}`], 'after a second')
  t.strictSame(ask(2000), [], 'the intervals double')
})

t.test('an announcement without an address leads to a question for the addresses', async t => {
  const { ask, tell, tick } = createBrowser()
  ask(150)
  tell(200, pointer(), ...service())
  t.strictSame(ask(330), ['A web.local', 'AAAA web.local'])
  tell(400, address(), { type: 'AAAA', name: 'web.local', ttl: 120, data: '2001:db8::3' })
  t.strictSame(tick(410), [], 'further addresses may follow')
  const [row] = tick(600)
  t.match(row, { instance: 'web', host: 'web.local', port: 80, isGone: false })
  t.strictSame(row?.addresses, ['10.9.0.3', '2001:db8::3'])
  t.strictSame(tick(900), [], 'a service is reported once')
})

const denial = (name: string, ...rrtypes: string[]): Answer =>
  ({ type: 'NSEC', name, ttl: 120, flush: true, data: { nextDomain: name, rrtypes } }) as Answer

t.test('a record that its owner denies is neither asked for nor waited for', async t => {
  const { ask, tell, tick } = createBrowser()
  ask(150)
  tell(200, pointer(), ...service(), denial('web.local', 'AAAA'))
  t.strictSame(ask(330), ['AAAA web.local'])
  t.strictSame(tick(1000), [], 'an address may still come')
  tell(1400, denial('WEB.local', 'HINFO'))
  t.notMatch(ask(1500).join(), /AAAA/, 'the question is settled')
  t.match(tick(1700), [{ instance: 'web', host: 'web.local', addresses: [] }])
})

t.test('a question that was answered is not repeated', async t => {
  const { ask, tell } = createBrowser()
  ask(150)
  tell(200, pointer(), ...service())
  t.strictSame(ask(330), ['A web.local', 'AAAA web.local'])
  tell(400, address())
  t.notOk(ask(1400).includes('A web.local'))
})

t.test('a record is asked for again after 80 percent of its lifetime, and expires', async t => {
  const { ask, tell, tick } = createBrowser()
  ask(150)
  tell(200, pointer(10), ...service(), address())
  t.equal(tick(200).length + tick(500).length, 1)
  t.notOk(ask(8100).includes(`PTR ${TYPE}`), 'not before')
  t.ok(ask(8200).includes(`PTR ${TYPE}`))
  tell(8300, pointer(10))
  t.strictSame(tick(10_300), [], 'the answer extended the lifetime')
  t.match(tick(18_301), [{ instance: 'web', isGone: true, isHostGone: false }])
})

t.test('a goodbye is believed after one second, unless the service comes back', async t => {
  const { tell, tick } = createBrowser()
  tell(0, pointer(), ...service(), address())
  tick(0)
  tick(200)
  tell(300, pointer(0))
  tell(900, pointer())
  t.strictSame(tick(1400), [], 'a responder that restarts is not reported as gone')
  tell(2000, pointer(0), address(0))
  t.match(tick(3001), [{ instance: 'web', host: 'web.local', isGone: true, isHostGone: true }])
})

t.test('a host that withdraws one of its services is not gone', async t => {
  const { tell, tick } = createBrowser()
  const other = `other.${TYPE}`
  tell(0, pointer(), ...service(), address(), pointer(120, other))
  tell(0, { type: 'SRV', name: other, ttl: 120, data: { target: 'web.local', port: 81 } })
  tell(10, pointer(0), address(0))
  t.match(tick(1011), [{ instance: 'web', isGone: true, isHostGone: false }])
})

t.test('a record with the flush bit replaces those that are older than a second', async t => {
  const { browser, tell } = createBrowser()
  tell(0, pointer(), ...service(), address())
  tell(2000, address(120, '10.9.0.4'))
  tell(2500, address(120, '10.9.0.5'))
  browser.takeQueries(3001)
  t.strictSame([...browser.takeReady(3001)], [], 'the old address has expired')
  const [row] = browser.takeRest(3001)
  t.strictSame(row?.addresses, ['10.9.0.4', '10.9.0.5'])
})

t.test('hostile packets neither crash the browser nor make it ask or keep without end', async t => {
  const { browser } = createBrowser()
  const names = Array.from({ length: 40_000 }, (_, at) => `x${at}`)
  let questions = 0
  for (let at = 0; at < names.length; at += 100) {
    const some = names.slice(at, at + 100)
    const packet = {
      isResponse: true,
      id: 0,
      questions: [],
      authorities: [],
      additionals: [],
      answers: some.flatMap(name => [
        {
          type: 'PTR' as const,
          name: '_services._dns-sd._udp.local',
          ttl_s: 4e9,
          isFlush: false,
          target: `_${name}._tcp.local`,
        },
        { type: 'PTR' as const, name: TYPE, ttl_s: 1, isFlush: false, target: `${name}.${TYPE}` },
      ]),
    }
    browser.read(packet, link, at)
    for (const { bytes } of browser.takeQueries(at))
      questions += decode(bytes).questions?.length ?? 0
  }
  t.ok(browser.isFull, 'what does not fit is reported')
  t.ok(questions <= 256 * 7, `${questions} questions`)
  t.ok([...browser.takeRest(50_000)].length <= 1024)
})

t.test('services of more types than one scan looks for are left out, which it states', async t => {
  const { browser, tell, tick } = createBrowser()
  const types = new Set<string>()
  for (let at = 0; at < 200; at++) {
    const type = `_t${at}._tcp.local`
    const data = `web.${type}`
    const now = at * 2000
    const ptr = (ttl: number): Answer => ({ type: 'PTR', name: type, ttl, data })
    const own = service().map(each => ({ ...each, name: data }))
    tell(now, ptr(120), ...own, address())
    for (const row of [...tick(now), ...tick(now + 200)]) types.add(row.type)
    tell(now + 300, ptr(0))
    tick(now + 1400)
  }
  t.equal(types.size, 96, 'also when each service leaves before the next one appears')
  t.ok(browser.isFull)
})

t.test('a packet is refused when it is malformed, and never read without end', async t => {
  const header = (answers: number) => Buffer.from([0, 0, 0x84, 0, 0, 0, 0, answers, 0, 0, 0, 0])
  const loop = Buffer.concat([header(1), Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 1, 0, 0])])
  t.equal(readPacket(loop), undefined, 'a compression pointer to itself')
  const forward = Buffer.concat([header(1), Buffer.from([0xc0, 14, 0xc0, 12, 0, 12, 0, 1, 0, 0])])
  t.equal(readPacket(forward), undefined, 'pointers that lead in a circle')
  t.equal(readPacket(Buffer.alloc(20_000)), undefined, 'a packet above the limit of the protocol')
  const counted = Buffer.alloc(12, 0xff)
  t.equal(readPacket(counted), undefined, 'counters without records')
  const giant = encode({
    type: 'response',
    answers: [{ type: 'TXT', name: NAME, data: Array(30).fill(Buffer.alloc(255, 0x61)) }],
  })
  const [record] = (readPacket(giant) as MdnsPacket).answers
  t.equal(record?.type, 'TXT', 'a large TXT record is legal')
  const valid = encode({ type: 'response', answers: [pointer(), ...service(), address()] })
  let read = 0
  let seed = 7
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(valid)
    for (let change = 0; change < 4; change++) {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
      bytes[seed % bytes.length] = seed >> 16
    }
    const packet = readPacket(bytes)
    if (packet === undefined) continue
    read++
    const { browser } = createBrowser()
    browser.read(packet, link, 0)
    browser.takeQueries(200)
    for (const row of [...browser.takeReady(1000), ...browser.takeRest(1000)]) readDeviceFacts(row)
  }
  t.ok(read > 100, `${read} of 20000 changed packets were read`)
})

t.test('attributes of known service types state model, firmware, identity and address', async t => {
  const read = (type: string, instance: string, txt: Record<string, string>) =>
    readDeviceFacts({ type, instance, txt: new Map(Object.entries(txt)) })
  t.match(read('_ipp._tcp', 'P', { ty: 'Brother HL', usb_mfg: 'Brother', uuid: 'AB-1' }), {
    vendor: 'Brother',
    model: 'Brother HL',
    device_id: 'ipp:ab-1',
  })
  t.match(read('_printer._tcp', 'P', { product: '(LaserJet 400)' }), { model: 'LaserJet 400' })
  t.match(read('_hap._tcp', 'Lamp', { md: 'LB1', id: 'AA:BB:CC:00:11:22' }), {
    model: 'LB1',
    device_id: 'hap:aa:bb:cc:00:11:22',
    macs: [],
  })
  t.match(read('_hue._tcp', 'Hue', { bridgeid: '001788fffe123456', modelid: 'BSB002' }), {
    vendor: 'Signify',
    macs: ['00:17:88:12:34:56'],
  })
  t.match(read('_shelly._tcp', 'shellyplus1-a8032ab12345', { app: 'Plus1', ver: '1.4.2' }), {
    model: 'Plus1',
    firmware: '1.4.2',
    device_id: 'shelly:shellyplus1-a8032ab12345',
    macs: ['a8:03:2a:b1:23:45'],
  })
  t.match(read('_esphomelib._tcp', 'x', { mac: 'a0b765123456', version: '2026.1' }), {
    firmware: '2026.1',
    macs: ['a0:b7:65:12:34:56'],
  })
  t.match(read('_googlecast._tcp', 'x', { id: 'F00', md: 'Mini' }), { device_id: 'cast:f00' })
  t.match(read('_workstation._tcp', 'pc [00:11:22:33:44:55]', {}), { macs: ['00:11:22:33:44:55'] })
  t.match(read('_matter._tcp', '0011223344556677-8899AABBCCDDEEFF', {}), {
    device_id: 'matter:0011223344556677-8899aabbccddeeff',
  })
  t.match(read('_airplay._tcp', 'TV', { deviceid: '10:20:30:40:50:60', fv: '9' }), {
    firmware: '9',
    macs: ['10:20:30:40:50:60'],
  })
})
