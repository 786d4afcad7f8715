import { type Answer, AUTHORITATIVE_ANSWER, encode } from 'dns-packet'
import type { Link } from '../../../shared/mdns/links.ts'
import type { MdnsPacket } from '../../../shared/mdns/packet.ts'
import { writeQuery } from '../../../shared/mdns/query.ts'
import { MDNS_PORT, MdnsSockets } from '../../../shared/mdns/sockets.ts'
import { sleep, systemRuntime } from '../../../shared/runtime.ts'
import { hasLost, isConflict } from './conflicts.ts'
import { listAdditionals, listAnswers } from './replies.ts'
import {
  type Announcement,
  createRecords,
  listRecords,
  type ServiceRecords,
} from './service-records.ts'

interface Sender {
  address: string
  port: number
}

/** A link with the addresses that are announced on it. */
export interface PublishedLink extends Link {
  announced: readonly string[]
}

const PROBES = 3
const PROBE_MS = 250
/** Wait after a lost tie, and shortest time between two equal multicasts (RFC 6762, 6 and 8.2). */
const REST_MS = 1000
/** Wait after many conflicts, so that a hostile host cannot keep us probing (RFC 6762, 8.1). */
const MANY_CONFLICTS = 15
const CONFLICT_REST_MS = 5000
/** Lifetime in answers to resolvers that do not speak multicast DNS (RFC 6762, 6.7). */
const LEGACY_TTL_S = 10
const MAX_LEGACY_PER_SECOND = 10

/**
 * Announces one service on some links: probes for its names, renames itself after a conflict,
 * answers questions and says goodbye. Each record is multicast at most once a second and link.
 */
export class Publisher implements AsyncDisposable {
  readonly #announcement: Announcement
  readonly #closed = new AbortController()
  readonly #sentAt = new Map<string, number>()
  #sockets: MdnsSockets | undefined
  #attempt = 1
  #conflicts = 0
  #isPublished = false
  #onTrouble: (trouble: 'conflict' | 'tie') => void = () => {}
  #running: Promise<void> = Promise.resolve()
  #legacy = { second: 0, count: 0 }

  private constructor(announcement: Announcement) {
    this.#announcement = announcement
  }

  /** @throws the error of the system when the port cannot be shared */
  static async start(
    announcement: Announcement,
    links: readonly PublishedLink[],
    onPublished: (instance: string) => void = () => {},
  ): Promise<Publisher> {
    const publisher = new Publisher(announcement)
    publisher.#sockets = await MdnsSockets.open(links, (packet, link, sender) =>
      publisher.#read(packet, link as PublishedLink, sender),
    )
    publisher.#running = publisher.#run(onPublished).catch(() => {})
    return publisher
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasPublished = this.#isPublished
    this.#closed.abort()
    this.#onTrouble('conflict')
    await this.#running
    if (wasPublished) await this.#broadcast(own => listRecords(own).map(withdraw))
    await this.#sockets?.[Symbol.asyncDispose]()
  }

  async #run(onPublished: (instance: string) => void): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      const trouble = await this.#probe()
      if (trouble === 'tie') await sleep(systemRuntime, REST_MS, { signal })
      else if (trouble === 'conflict') await this.#rename()
      else {
        const conflict = this.#nextTrouble()
        this.#isPublished = true
        await this.#announce()
        onPublished(createRecords(this.#announcement, this.#attempt, []).instance)
        await conflict
        this.#isPublished = false
        // the names are probed again first: the other host may have given way (RFC 6762, 9)
      }
    }
  }

  async #rename(): Promise<void> {
    const { signal } = this.#closed
    this.#attempt++
    if (++this.#conflicts >= MANY_CONFLICTS)
      await sleep(systemRuntime, CONFLICT_REST_MS, { signal })
  }

  /** Asks three times whether somebody has the names; undefined when they are free. */
  async #probe(): Promise<'conflict' | 'tie' | undefined> {
    const { signal } = this.#closed
    const trouble = this.#nextTrouble()
    await sleep(systemRuntime, systemRuntime.random() * PROBE_MS, { signal })
    for (let count = 0; count < PROBES; count++) {
      for (const link of this.#links()) await this.#sockets?.send(link, this.#writeProbe(link))
      const ended = await Promise.race([trouble, sleep(systemRuntime, PROBE_MS, { signal })])
      if (ended !== undefined) return ended
    }
    return undefined
  }

  #writeProbe(link: PublishedLink): Buffer {
    const { instance, host, service, addresses } = this.#recordsOn(link)
    const questions = [instance, host].map(name => ({ name, type: 'ANY' as const }))
    return writeQuery(questions, [], [service, ...addresses])
  }

  /** Twice, a second apart (RFC 6762, 8.3). */
  async #announce(): Promise<void> {
    await this.#broadcast(listRecords)
    await sleep(systemRuntime, REST_MS, { signal: this.#closed.signal })
    await this.#broadcast(listRecords)
  }

  #nextTrouble(): Promise<'conflict' | 'tie'> {
    const { promise, resolve } = Promise.withResolvers<'conflict' | 'tie'>()
    this.#onTrouble = resolve
    return promise
  }

  #read(packet: MdnsPacket, link: PublishedLink, sender: Sender): void {
    const own = this.#recordsOn(link)
    if (packet.isResponse) {
      if (this.#links().some(({ addresses }) => addresses.includes(sender.address))) return
      if ([...packet.answers, ...packet.additionals].some(record => isConflict(record, own)))
        this.#onTrouble('conflict')
    } else if (this.#isPublished) this.#answer(packet, link, sender, own)
    else if (hasLost(packet.authorities, own)) this.#onTrouble('tie')
  }

  #answer(packet: MdnsPacket, link: PublishedLink, sender: Sender, own: ServiceRecords): void {
    const answers = listAnswers(packet, own)
    if (answers.length === 0) return
    if (sender.port !== MDNS_PORT) {
      this.#answerLegacy(packet, link, sender, answers)
      return
    }
    const isProbe = packet.authorities.length > 0
    const due = answers.filter(each => isProbe || this.#takeTurn(link, each))
    if (due.length > 0) void this.#send(link, due, listAdditionals(due, own))
  }

  /** False for a record that was multicast on the link within the last second. */
  #takeTurn(link: Link, { name, type, ...rest }: Answer): boolean {
    const key = [link.name, name, type, 'data' in rest ? String(rest.data) : ''].join('\n')
    const now = systemRuntime.nowMs()
    if (now - (this.#sentAt.get(key) ?? Number.NEGATIVE_INFINITY) < REST_MS) return false
    this.#sentAt.set(key, now)
    return true
  }

  #answerLegacy(packet: MdnsPacket, link: Link, sender: Sender, answers: Answer[]): void {
    const second = Math.floor(systemRuntime.nowMs() / 1000)
    if (second !== this.#legacy.second) this.#legacy = { second, count: 0 }
    if (++this.#legacy.count > MAX_LEGACY_PER_SECOND) return
    const bytes = encode({
      type: 'response',
      id: packet.id,
      flags: AUTHORITATIVE_ANSWER,
      questions: packet.questions.slice(0, 1) as never,
      answers: answers.map(each => ({ ...each, ttl: LEGACY_TTL_S, flush: false }) as Answer),
    })
    this.#sockets?.sendTo(link, sender, bytes)
  }

  async #broadcast(choose: (own: ServiceRecords) => Answer[]): Promise<void> {
    const sent = this.#links().map(link => this.#send(link, choose(this.#recordsOn(link)), []))
    await Promise.all(sent)
  }

  async #send(link: Link, answers: Answer[], additionals: Answer[]): Promise<void> {
    const flags = AUTHORITATIVE_ANSWER
    await this.#sockets?.send(link, encode({ type: 'response', flags, answers, additionals }))
  }

  #links(): readonly PublishedLink[] {
    return (this.#sockets?.links ?? []) as readonly PublishedLink[]
  }

  #recordsOn(link: PublishedLink): ServiceRecords {
    return createRecords(this.#announcement, this.#attempt, link.announced)
  }
}

const withdraw = (answer: Answer): Answer => ({ ...answer, ttl: 0 }) as Answer
