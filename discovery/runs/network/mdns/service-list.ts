import { EventEmitter } from 'node:events'
import Bonjour, { type Service } from 'bonjour-service'
import { foldName, META_NAME } from '../../../../shared/mdns/names.ts'
import type { MdnsRecord } from '../../../../shared/mdns/packet.ts'
import { readTxt } from '../../../../shared/mdns/txt.ts'

/** A service as bonjour-service lists it. */
export interface ListedService {
  host: string
  port: number
  addresses: readonly string[]
  ttl_s: number
  txt: ReadonlyMap<string, string | null>
}

/** Complete records of one service, so that bonjour-service lists it at once. */
interface ServiceAnswers {
  /** Service type: `_ipp._tcp`. */
  type: string
  /** Full name of the instance. */
  name: string
  records: readonly MdnsRecord[]
}

type FoundByBonjour = Service & { rawTxt?: Buffer[] }

/**
 * Services of one link in the browser of bonjour-service, which asks for service types and reports
 * each service that appears or leaves. It reads one packet only: it never adds an address that comes
 * later, asks once, knows no lifetime and has no bounds. Therefore it reads complete services alone.
 */
export class ServiceList {
  readonly #mdns: EventEmitter
  /** Folded names of the listed services: bonjour-service would compare each of them. */
  readonly #names = new Set<string>()
  #found: FoundByBonjour | undefined

  /** Calls `ask` with the name of each service type to ask for, at once for those of `types`. */
  constructor(types: ReadonlySet<string> | undefined, ask: (name: string) => void) {
    this.#mdns = Object.assign(new EventEmitter(), { query: ask })
    this.#mdns.setMaxListeners(0)
    const chosen = types === undefined ? [null] : [...types].map(parseType)
    for (const each of chosen) {
      const browser = new Bonjour.Browser(this.#mdns, each)
      browser.on('up', service => {
        this.#found = service
        this.#names.add(foldName(service.fqdn))
      })
      browser.on('down', service => {
        this.#found = service
        this.#names.delete(foldName(service.fqdn))
      })
    }
  }

  get size(): number {
    return this.#names.size
  }

  /** Folded names of the listed services. */
  names(): Iterable<string> {
    return this.#names
  }

  has(name: string): boolean {
    return this.#names.has(foldName(name))
  }

  /** Makes a service type known, which bonjour-service asks for. */
  addType(type: string): void {
    this.#hear([listType(type)])
  }

  /** Lists a service; undefined when it lacks its host or is listed already. */
  add({ type, name, records }: ServiceAnswers): ListedService | undefined {
    const ttl = records.find(each => each.type === 'PTR')?.ttl_s ?? 0
    return this.#hear([
      listType(type),
      createPointer(type, name, ttl),
      ...records.flatMap(convertRecord),
    ])
  }

  /** Removes a service that left; undefined when it was not listed. */
  remove({ type, name }: Pick<ServiceAnswers, 'type' | 'name'>): ListedService | undefined {
    return this.#hear([createPointer(type, name, 0)])
  }

  #hear(answers: readonly object[]): ListedService | undefined {
    this.#found = undefined
    this.#mdns.emit('response', { answers, additionals: [] }, {})
    return this.#found === undefined ? undefined : describeService(this.#found)
  }
}

const parseType = (type: string) => {
  const [name = '', protocol] = type.split('.').map(label => label.slice(1))
  return { type: name, protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const) }
}

/** The record by which a host lists a service type (RFC 6763, 9). */
const listType = (type: string) => ({
  type: 'PTR',
  name: META_NAME,
  ttl: 120,
  data: `${type}.local`,
})

const createPointer = (type: string, name: string, ttl: number) => ({
  type: 'PTR',
  name: `${type}.local`,
  ttl,
  data: name,
})

/** Pointers are left out: `add` makes its own. */
const convertRecord = (record: MdnsRecord): object[] => {
  const base = { type: record.type, name: record.name, ttl: record.ttl_s }
  switch (record.type) {
    case 'SRV':
      return [{ ...base, data: { target: record.target, port: record.port } }]
    case 'TXT':
      return [{ ...base, data: record.strings }]
    case 'A':
    case 'AAAA':
      return [{ ...base, data: record.address }]
    default:
      return []
  }
}

const describeService = ({
  host,
  port,
  addresses,
  ttl,
  rawTxt,
}: FoundByBonjour): ListedService => ({
  host,
  port,
  addresses: addresses ?? [],
  ttl_s: ttl ?? 0,
  txt: readTxt(rawTxt ?? []),
})
