import type { Link } from '../../../../shared/mdns/links.ts'
import {
  foldName,
  META_NAME,
  parseInstanceName,
  parseTypeName,
} from '../../../../shared/mdns/names.ts'
import type { MdnsPacket, MdnsRecord } from '../../../../shared/mdns/packet.ts'
import type { MdnsQuestion } from '../../../../shared/mdns/query.ts'
import { writeQueries } from './known-answers.ts'
import { QuestionPlan } from './question-plan.ts'
import { RecordCache } from './record-cache.ts'
import { ServiceList } from './service-list.ts'
import {
  buildService,
  type FoundService,
  findPointer,
  hasLeft,
  isComplete,
  isDenied,
  listServiceRecords,
  type ServiceEntry,
} from './services.ts'

interface BrowserOptions {
  links: readonly Link[]
  isAskable: (link: Link) => boolean
  types?: readonly string[]
}

interface Query {
  link: Link
  bytes: Buffer
}

/** Types of records that one host answers for, so that one answer is enough. */
const UNIQUE_TYPES = ['SRV', 'TXT', 'A', 'AAAA'] as const
const MAX_SERVICES = 1024
const MAX_TYPES = 96
/** Time for further addresses after the first one, so that a row has all of them. */
const SETTLE_MS = 150
/** Responders usually add what belongs to an instance; what is missing is asked for after this. */
const FOLLOW_UP_MS = 120

/**
 * Finds service instances by the records that hosts send, without sockets or a clock of its own.
 * bonjour-service chooses the service types to ask for and reports what appears and leaves; this
 * class completes each service first. Everything that a host can make it keep or ask is bounded.
 */
export class Browser {
  readonly #cache = new RecordCache()
  readonly #entries = new Map<string, ServiceEntry>()
  readonly #links: readonly Link[]
  readonly #plans: Map<string, QuestionPlan>
  /** Listed services by the name of the link. */
  readonly #lists = new Map<string, ServiceList>()
  readonly #types: ReadonlySet<string> | undefined
  readonly #foundTypes = new Set<string>()
  #isOverfull = false
  /** Time for what bonjour-service asks now; undefined while it may not ask. */
  #askAt: number | undefined

  constructor({ links, isAskable, types }: BrowserOptions) {
    this.#links = links
    this.#plans = new Map(
      links.filter(isAskable).map(link => [link.name, new QuestionPlan(link)] as const),
    )
    this.#types = types === undefined ? undefined : new Set(types)
  }

  /** True when records or services found no room. */
  get isFull(): boolean {
    return this.#isOverfull || this.#cache.isFull
  }

  /** Plans the first questions, after a random wait of 20 to 120 ms (RFC 6762, 5.2). */
  start(now: number): void {
    for (const { name } of this.#links) {
      this.#askAt = now + 20 + Math.random() * 100
      this.#lists.set(name, new ServiceList(this.#types, type => this.#askType(name, type)))
    }
    this.#askAt = undefined
  }

  /** Reads the answers of a packet; questions of others say nothing about services. */
  read({ isResponse, answers, additionals }: MdnsPacket, link: Link, now: number): void {
    if (!isResponse) return
    for (const record of [...answers, ...additionals]) {
      this.#cache.put(link, record, now)
      this.#settle(record, link)
      if (record.type !== 'PTR') continue
      if (foldName(record.name) === META_NAME) this.#addType(record.target, link, now)
      else this.#addInstance(record.name, record.target, link, now)
    }
  }

  /** Packets to send now: planned questions and those for records that expire soon. */
  takeQueries(now: number): Query[] {
    for (const entry of this.#entries.values()) if (!entry.isReported) this.#advance(entry, now)
    for (const { link, record } of this.#cache.takeDue(now))
      if (record.type !== 'NSEC' && this.#isWanted(record.name))
        this.#plans.get(link.name)?.renew({ name: record.name, type: record.type }, now)
    return [...this.#plans.values()].flatMap(plan =>
      writeQueries(plan.takeDue(now), plan.link, this.#cache, now),
    )
  }

  /** Services that became complete, and those that left. */
  *takeReady(now: number): Generator<FoundService> {
    yield* this.#takeGone(now, this.#cache.listExpired(now))
    for (const entry of this.#entries.values()) {
      if (entry.isReported || entry.completeAt === undefined) continue
      if (now - entry.completeAt < SETTLE_MS || !this.#isAlive(entry)) continue
      entry.isReported = true
      yield this.#describe(entry)
    }
  }

  /**
   * Takes the rest at the end: what is incomplete, and what said goodbye less than a second ago.
   */
  *takeRest(now: number): Generator<FoundService> {
    const withdrawn = [...this.#cache.all()].filter(({ isWithdrawn }) => isWithdrawn)
    yield* this.#takeGone(now, withdrawn)
    for (const entry of this.#entries.values()) if (!entry.isReported) yield this.#describe(entry)
  }

  /** Ends questions that a record answers or denies; others may still answer those for pointers. */
  #settle(record: MdnsRecord, link: Link): void {
    const plan = this.#plans.get(link.name)
    if (plan === undefined || record.type === 'PTR' || record.ttl_s === 0) return
    for (const type of UNIQUE_TYPES)
      if (record.type === 'NSEC' ? !record.existing.includes(type) : record.type === type)
        plan.settle({ name: record.name, type })
  }

  *#takeGone(now: number, ended: ReturnType<RecordCache['listExpired']>): Generator<FoundService> {
    const gone = ended.flatMap(({ link, record }) => {
      const entry = record.type === 'PTR' && this.#entries.get(entryKey(link, record.target))
      return entry ? [entry] : []
    })
    for (const entry of gone) this.#entries.delete(entryKey(entry.link, entry.name))
    const found = gone.map(entry => this.#describeGone(entry, now))
    for (const record of ended) this.#cache.remove(record)
    yield* found
  }

  /** Service as bonjour-service lists it; one that it cannot list is described by its records. */
  #describe(entry: ServiceEntry): FoundService {
    const records = listServiceRecords(this.#cache, entry)
    const listed = this.#lists.get(entry.link.name)?.add({ ...entry, records })
    return { ...buildService(this.#cache, entry), ...listed }
  }

  #describeGone(entry: ServiceEntry, now: number): FoundService {
    const service = buildService(this.#cache, entry)
    const listed = this.#lists.get(entry.link.name)?.remove(entry)
    const { host, link } = service
    const isHostGone =
      host !== null && hasLeft(this.#cache, link, host, now) && !this.#hasServices(link, host)
    return { ...service, ...listed, ttl_s: service.ttl_s, isGone: true, isHostGone }
  }

  #hasServices(link: Link, host: string): boolean {
    return [...this.#entries.values()].some(
      ({ link: { name }, ...each }) =>
        name === link.name &&
        this.#cache
          .find(link, 'SRV', each.name)
          .some(({ record }) => foldName(record.target) === foldName(host)),
    )
  }

  #isAlive(entry: ServiceEntry): boolean {
    return findPointer(this.#cache, entry)?.isWithdrawn === false
  }

  #addType(name: string, link: Link, now: number): void {
    const type = parseTypeName(name)
    if (type === undefined || this.#types !== undefined) return
    if (this.#foundTypes.size >= MAX_TYPES && !this.#foundTypes.has(type)) {
      this.#isOverfull = true
      return
    }
    this.#foundTypes.add(type)
    this.#askAt = now
    this.#lists.get(link.name)?.addType(type)
    this.#askAt = undefined
  }

  /** Plans a question of bonjour-service; on a link without a plan none is sent. */
  #askType(link: string, name: string): void {
    if (this.#askAt !== undefined) this.#plans.get(link)?.add({ name, type: 'PTR' }, this.#askAt)
  }

  #addInstance(typeOf: string, name: string, link: Link, now: number): void {
    const type = parseTypeName(typeOf)
    const parsed = parseInstanceName(name)
    if (type === undefined || parsed?.type !== type || !this.#isWanted(typeOf)) return
    const key = entryKey(link, name)
    if (this.#entries.has(key)) return
    if (this.#entries.size >= MAX_SERVICES) {
      this.#isOverfull = true
      return
    }
    this.#entries.set(key, { ...parsed, link, name, firstSeenAt: now, isReported: false })
  }

  /** True for names below a service type that this browser looks for. */
  #isWanted(name: string): boolean {
    if (this.#types === undefined) return true
    const type = parseTypeName(name) ?? parseInstanceName(name)?.type
    return type === undefined || this.#types.has(type)
  }

  /** Notes that a service is complete, or asks for what its announcement lacked. */
  #advance(entry: ServiceEntry, now: number): void {
    const { link, name } = entry
    if (isComplete(this.#cache, entry)) {
      entry.completeAt ??= now
      return
    }
    const plan = this.#plans.get(link.name)
    if (plan === undefined || now - entry.firstSeenAt < FOLLOW_UP_MS) return
    const ask = (question: MdnsQuestion): void => {
      if (!isDenied(this.#cache, link, question)) plan.add(question, now)
    }
    const [srv] = this.#cache.find(link, 'SRV', name)
    if (srv === undefined) ask({ name, type: 'SRV' })
    if (this.#cache.find(link, 'TXT', name).length === 0) ask({ name, type: 'TXT' })
    // hosts outside .local are names of the ordinary DNS
    if (srv === undefined || !foldName(srv.record.target).endsWith('.local')) return
    ask({ name: srv.record.target, type: 'A' })
    ask({ name: srv.record.target, type: 'AAAA' })
  }
}

const entryKey = (link: Link, name: string): string => `${link.name}\n${foldName(name)}`
