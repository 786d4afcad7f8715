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
import { type ListedService, ServiceList } from './service-list.ts'
import {
  buildService,
  type FoundService,
  findPointer,
  hasLeft,
  isComplete,
  isDenied,
  listServiceRecords,
  type ServiceEntry,
  type ServiceName,
} from './services.ts'

interface BrowserOptions {
  links: readonly Link[]
  isAskable: (link: Link) => boolean
  types?: readonly string[]
}

/** A service that left, as bonjour-service listed it. */
type GoneEntry = ServiceName & { listed: ListedService | undefined }

interface Query {
  link: Link
  bytes: Buffer
}

/** Types of records that one host answers for, so that one answer is enough. */
const UNIQUE_TYPES = ['SRV', 'TXT', 'A', 'AAAA'] as const
/** Most services that are pending or listed, and most types that they and the hosts' lists have. */
const MAX_SERVICES = 1024
const MAX_TYPES = 96
/** Time for further addresses after the first one, so that a row has all of them. */
const SETTLE_MS = 150
/** Time after which missing records are asked for; responders usually send all of them. */
const FOLLOW_UP_MS = 120

/**
 * Finds service instances by the records that hosts send, without sockets or a clock of its own.
 * bonjour-service chooses the service types to ask for, holds the services and reports what appears
 * and leaves; this class completes each service first. Everything that a host can make either keep or
 * ask is bounded.
 */
export class Browser {
  readonly #cache = new RecordCache()
  /** Services that are not complete yet, or that bonjour-service cannot list. */
  readonly #pending = new Map<string, ServiceEntry>()
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
    for (const entry of this.#pending.values()) this.#advance(entry, now)
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
    for (const [key, entry] of this.#pending) {
      if (entry.completeAt === undefined || now - entry.completeAt < SETTLE_MS) continue
      const listed = this.#isAlive(entry) ? this.#list(entry) : undefined
      if (listed === undefined) continue
      this.#pending.delete(key)
      yield listed
    }
  }

  /**
   * Takes the rest at the end: what is incomplete or could not be listed, and what said goodbye less
   * than a second ago.
   */
  *takeRest(now: number): Generator<FoundService> {
    const withdrawn = [...this.#cache.all()].filter(({ isWithdrawn }) => isWithdrawn)
    yield* this.#takeGone(now, withdrawn)
    for (const entry of this.#pending.values())
      yield this.#list(entry) ?? buildService(this.#cache, entry)
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
    const gone = ended.flatMap(({ link, record }) =>
      record.type === 'PTR' ? this.#takeEntry(link, record.target) : [],
    )
    const found = gone.map(entry => this.#describeGone(entry, now))
    for (const record of ended) this.#cache.remove(record)
    yield* found
  }

  /** The pending or listed service of a name, which is neither from now on. */
  #takeEntry(link: Link, name: string): GoneEntry[] {
    const key = entryKey(link, name)
    const pending = this.#pending.get(key)
    this.#pending.delete(key)
    const parsed = parseInstanceName(name)
    const list = this.#lists.get(link.name)
    if (parsed === undefined || (pending === undefined && list?.has(name) !== true)) return []
    return [{ ...parsed, link, name, listed: list?.remove({ type: parsed.type, name }) }]
  }

  /** Gives a complete service to bonjour-service; undefined when it cannot list it. */
  #list(entry: ServiceEntry): FoundService | undefined {
    const records = listServiceRecords(this.#cache, entry)
    const listed = this.#lists.get(entry.link.name)?.add({ ...entry, records })
    return listed && { ...buildService(this.#cache, entry), ...listed }
  }

  #describeGone({ listed, ...entry }: GoneEntry, now: number): FoundService {
    const service = buildService(this.#cache, entry)
    const { host, link } = service
    const isHostGone =
      host !== null && hasLeft(this.#cache, link, host, now) && !this.#hasServices(link, host)
    return { ...service, ...listed, ttl_s: service.ttl_s, isGone: true, isHostGone }
  }

  #hasServices(link: Link, host: string): boolean {
    const pending = [...this.#pending.values()].filter(each => each.link.name === link.name)
    const names = [
      ...pending.map(({ name }) => name),
      ...(this.#lists.get(link.name)?.names() ?? []),
    ]
    return names.some(name =>
      this.#cache
        .find(link, 'SRV', name)
        .some(({ record }) => foldName(record.target) === foldName(host)),
    )
  }

  #isAlive(entry: ServiceEntry): boolean {
    return findPointer(this.#cache, entry)?.isWithdrawn === false
  }

  #addType(name: string, link: Link, now: number): void {
    const type = parseTypeName(name)
    if (type === undefined || this.#types !== undefined || !this.#admitType(type)) return
    this.#askAt = now
    this.#lists.get(link.name)?.addType(type)
    this.#askAt = undefined
  }

  /** Admits a service type; returns false when there is no room. */
  #admitType(type: string): boolean {
    const isAdmitted = this.#foundTypes.has(type) || this.#foundTypes.size < MAX_TYPES
    if (isAdmitted) this.#foundTypes.add(type)
    else this.#isOverfull = true
    return isAdmitted
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
    if (this.#pending.has(key) || this.#lists.get(link.name)?.has(name) || !this.#admitType(type))
      return
    if (this.#countServices() >= MAX_SERVICES) {
      this.#isOverfull = true
      return
    }
    this.#pending.set(key, { ...parsed, link, name, firstSeenAt: now })
  }

  #countServices(): number {
    return [...this.#lists.values()].reduce((sum, { size }) => sum + size, this.#pending.size)
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
