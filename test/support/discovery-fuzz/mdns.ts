import { type Answer, encode } from 'dns-packet'
import module from '../../../discovery/modules/network/mdns-scan.ts'
import { Browser } from '../../../discovery/runs/network/mdns/browser.ts'
import { createRow } from '../../../discovery/runs/network/mdns-scan.ts'
import type { Link } from '../../../shared/mdns/links.ts'
import { readPacket } from '../../../shared/mdns/packet.ts'
import { type Random, randomOf } from '../random.ts'
import { addResults, checkRows, type FuzzResult, NOTHING } from './fuzz-result.ts'
import { mutate } from './mutate.ts'

const LINK: Link = {
  ...{ name: 'eth0', address: '10.9.0.2', cidr: '10.9.0.2/24' },
  ...{ isLoopback: false, addresses: ['10.9.0.2'] },
}
const TYPES = ['_ipp._tcp', '_hap._tcp', '_http._tcp', '_googlecast._tcp', '_matter._tcp']
const NAMES = ['Printer', 'Büro 2.1', '', '0011223344556677-8899AABBCCDDEEFF', 'x'.repeat(63)]
const TXT = ['md=Lamp', 'id=AA:BB:CC:00:11:22', 'UUID=u-1', '=', '=x', 'ty', `a=${'y'.repeat(200)}`]

/** An announcement of a service with all that belongs to it, and sometimes a record of another kind. */
const createPacket = (random: Random): Buffer => {
  const type = `${random.pick(TYPES)}.local`
  const name = `${random.pick(NAMES)}.${type}`
  const host = `host-${random.randomBelow(8)}.local`
  const ttl = random.pick([0, 1, 10, 120, 4500, 4e9])
  const answers = [
    { type: 'PTR', name: '_services._dns-sd._udp.local', ttl, data: type },
    { type: 'PTR', name: type, ttl, data: name },
    {
      type: 'SRV',
      name,
      ttl,
      flush: true,
      data: { target: host, port: random.randomBelow(65_536) },
    },
    { type: 'TXT', name, ttl, data: [random.pick(TXT), random.pick(TXT)] },
    { type: 'A', name: host, ttl, flush: true, data: `10.9.0.${random.randomBelow(256)}` },
    { type: 'AAAA', name: host, ttl, data: `fe80::${random.randomBelow(256).toString(16)}` },
    { type: 'NSEC', name: host, ttl, data: { nextDomain: host, rrtypes: ['A'] } },
    { type: 'HINFO', name: host, ttl, data: { cpu: 'x', os: 'y' } },
  ] as Answer[]
  const some = answers.filter(() => random.randomBelow(4) > 0)
  return encode({ type: random.randomBelow(8) === 0 ? 'query' : 'response', answers: some })
}

/** Packets that one scan hears. */
const PER_SCAN = 500

/** Sends invented packets through the browser of `mdns-scan`. */
export const fuzzMdns = (count: number, seed: number): FuzzResult => {
  const random = randomOf(seed)
  let total = NOTHING
  for (let done = 0; done < count && total.fault === undefined; done += PER_SCAN)
    total = addResults(total, fuzzScan(Math.min(PER_SCAN, count - done), random))
  return total
}

const fuzzScan = (count: number, random: Random): FuzzResult => {
  const browser = new Browser({ links: [LINK], isAskable: () => true })
  browser.start(0)
  let heard = 0
  const found: object[] = []
  for (let at = 0; at < count; at++) {
    const packet = readPacket(mutate(createPacket(random), random))
    if (packet !== undefined) {
      heard++
      browser.read(packet, LINK, at)
    }
    if (at % 50 !== 0) continue
    browser.takeQueries(at)
    found.push(...[...browser.takeReady(at)].map(createRow))
  }
  found.push(...[...browser.takeRest(count)].map(createRow))
  return { heard, ...checkRows(module, found) }
}
