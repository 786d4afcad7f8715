import type { Service } from 'bonjour-service'
import { type LinkBonjour, openBonjour } from '../../../shared/mdns/bonjour.ts'
import { type MdnsQuestion, writeQuery } from '../../../shared/mdns/query.ts'
import { listRecords, SERVICE_NAME, type ServiceRecords } from './service-records.ts'

/**
 * The service on one link under one name: bonjour-service probes three times, announces, answers and
 * says goodbye. Its records list every address of the machine and its probes state none, so both are
 * replaced by those of the link.
 */
export class LinkService {
  /** Resolves when the service was announced for the first time. */
  readonly announced: Promise<void>
  readonly #link: LinkBonjour

  constructor(readRecords: () => ServiceRecords, send: (bytes: Buffer) => Promise<void>) {
    const own = readRecords()
    this.#link = openBonjour(bytes => send(isQuery(bytes) ? writeProbe(own) : bytes))
    const { name, port, host } = own
    const service = this.#link.bonjour.publish({ name, type: SERVICE_NAME, port, host })
    service.records = () => listRecords(readRecords()) as ReturnType<Service['records']>
    this.announced = new Promise(resolve => service.once('up', resolve))
  }

  /** Answers questions, each in a packet of its own. */
  answer(questions: readonly MdnsQuestion[]): void {
    if (questions.length > 0) this.#link.hear(writeQuery(questions))
  }

  /** Says goodbye. */
  withdraw(): Promise<void> {
    return new Promise(resolve => this.#link.bonjour.unpublishAll(() => resolve()))
  }

  /** Ends without a goodbye. */
  close(): void {
    this.#link.bonjour.destroy()
  }
}

/** The first bit of the flags tells a response from a query (RFC 1035, 4.1.1). */
const isQuery = (bytes: Buffer): boolean => ((bytes[2] as number) & 0x80) === 0

/** A probe carries the records that the prober wants to own, for ties (RFC 6762, 8.2). */
const writeProbe = ({ instance, host, service, addresses }: ServiceRecords): Buffer =>
  writeQuery(
    [instance, host].map(name => ({ name, type: 'ANY' as const })),
    [],
    [service, ...addresses],
  )
