import { type Answer, AUTHORITATIVE_ANSWER, encode } from 'dns-packet'
import type { Link } from '../../../shared/mdns/links.ts'
import { foldName } from '../../../shared/mdns/names.ts'
import type { MdnsPacket } from '../../../shared/mdns/packet.ts'
import type { MdnsQuestion } from '../../../shared/mdns/query.ts'
import { MDNS_PORT, MdnsSockets } from '../../../shared/mdns/sockets.ts'
import { type Runtime, sleep } from '../../../shared/runtime.ts'
import { hasLost, isConflict } from './conflicts.ts'
import { LinkService } from './link-service.ts'
import { listAnswers } from './replies.ts'
import { type Announcement, createRecords, type ServiceRecords } from './service-records.ts'

interface Sender {
  address: string
  port: number
}

/** A link with the addresses that are announced on it. */
export interface PublishedLink extends Link {
  announced: readonly string[]
}

/** Wait after a lost tie, and shortest time between two equal multicasts (RFC 6762, 6 and 8.2). */
const REST_MS = 1000
/** Wait after many conflicts, so that a hostile host cannot keep us probing (RFC 6762, 8.1). */
const MANY_CONFLICTS = 15
const CONFLICT_REST_MS = 5000
/** Lifetime in answers to resolvers that do not speak multicast DNS (RFC 6762, 6.7). */
const LEGACY_TTL_S = 10
const MAX_LEGACY_PER_SECOND = 10

type Trouble = 'conflict' | 'tie'
type PublishRuntime = Pick<Runtime, 'nowMs' | 'setTimeout'>

/**
 * Announces one service on some links by bonjour-service, which gives up on a conflict, answers what
 * the requester knows, and answers without a limit. Therefore this class reads all packets: it
 * judges conflicts and ties and starts again under the next name, and hands on only questions that
 * are due, so that each record is multicast at most once a second and link.
 */
export class Publisher implements AsyncDisposable {
  readonly #announcement: Announcement
  readonly #runtime: PublishRuntime
  readonly #closed = new AbortController()
  readonly #sentAt = new Map<string, number>()
  #sockets: MdnsSockets | undefined
  #attempt = 1
  #conflicts = 0
  /** Announced services by the name of the link. */
  #services = new Map<string, LinkService>()
  #isPublished = false
  #onTrouble: (trouble: Trouble) => void = () => {}
  #running: Promise<void> = Promise.resolve()
  #legacy = { second: 0, count: 0 }

  private constructor(announcement: Announcement, runtime: PublishRuntime) {
    this.#announcement = announcement
    this.#runtime = runtime
  }

  /** @throws the error of the system when the port cannot be shared */
  static async start(
    announcement: Announcement,
    links: readonly PublishedLink[],
    runtime: PublishRuntime,
    onPublished: (instance: string) => void = () => {},
  ): Promise<Publisher> {
    const publisher = new Publisher(announcement, runtime)
    publisher.#sockets = await MdnsSockets.open(links, (packet, link, sender) =>
      publisher.#read(packet, link as PublishedLink, sender),
    )
    publisher.#running = publisher.#run(onPublished).catch(() => {})
    return publisher
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    this.#onTrouble('conflict')
    await this.#running
    await this.#sockets?.[Symbol.asyncDispose]()
  }

  async #run(onPublished: (instance: string) => void): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      const trouble = await this.#publish(onPublished)
      if (trouble === 'tie') await sleep(this.#runtime, REST_MS, { signal })
      else if (trouble === 'conflict') await this.#rename()
      // after a conflict of announced names they are probed again: the other host may have given
      // way (RFC 6762, 9)
    }
  }

  /** Publishes under one name until trouble or the end; returns trouble from before the announcement. */
  async #publish(onPublished: (instance: string) => void): Promise<Trouble | undefined> {
    const early = this.#nextTrouble()
    this.#services = new Map(this.#links().map(link => [link.name, this.#createService(link)]))
    const services = [...this.#services.values()]
    const announced = Promise.all(services.map(each => each.announced)).then(() => undefined)
    const trouble = await Promise.race([early, announced])
    if (trouble === undefined) {
      const late = this.#nextTrouble()
      this.#isPublished = true
      onPublished(createRecords(this.#announcement, this.#attempt, []).instance)
      await late
      this.#isPublished = false
      if (this.#closed.signal.aborted) await Promise.all(services.map(each => each.withdraw()))
    }
    for (const service of services) service.close()
    return trouble
  }

  #createService(link: PublishedLink): LinkService {
    return new LinkService(
      () => this.#recordsOn(link),
      async bytes => this.#sockets?.send(link, bytes),
    )
  }

  async #rename(): Promise<void> {
    const { signal } = this.#closed
    this.#attempt++
    if (++this.#conflicts >= MANY_CONFLICTS)
      await sleep(this.#runtime, CONFLICT_REST_MS, { signal })
  }

  #nextTrouble(): Promise<Trouble> {
    const { promise, resolve } = Promise.withResolvers<Trouble>()
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
    if (sender.port !== MDNS_PORT) {
      const answers = listAnswers(packet, own)
      if (answers.length > 0) this.#answerLegacy(packet, link, sender, answers)
      return
    }
    const isDue = (question: MdnsPacket['questions'][number]): boolean => {
      const answers = listAnswers({ ...packet, questions: [question] }, own)
      const isProbe = packet.authorities.length > 0 && question.type === 'ANY'
      return answers.filter(each => isProbe || this.#takeTurn(link, each)).length > 0
    }
    const due = listDistinct(packet.questions).filter(isDue) as MdnsQuestion[]
    this.#services.get(link.name)?.answer(due)
  }

  /** False for a record that was multicast on the link within the last second. */
  #takeTurn(link: Link, { name, type, ...rest }: Answer): boolean {
    const key = [link.name, name, type, 'data' in rest ? String(rest.data) : ''].join('\n')
    const now = this.#runtime.nowMs()
    if (now - (this.#sentAt.get(key) ?? Number.NEGATIVE_INFINITY) < REST_MS) return false
    this.#sentAt.set(key, now)
    return true
  }

  #answerLegacy(packet: MdnsPacket, link: Link, sender: Sender, answers: Answer[]): void {
    const second = Math.floor(this.#runtime.nowMs() / 1000)
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

  #links(): readonly PublishedLink[] {
    return (this.#sockets?.links ?? []) as readonly PublishedLink[]
  }

  #recordsOn(link: PublishedLink): ServiceRecords {
    return createRecords(this.#announcement, this.#attempt, link.announced)
  }
}

/** A probe that repeats one question is answered once. */
const listDistinct = (questions: MdnsPacket['questions']): MdnsPacket['questions'] => [
  ...new Map(questions.map(each => [`${each.type} ${foldName(each.name)}`, each])).values(),
]
