import type { EventEmitter } from 'node:events'
import snmp, { type Session, type User, type Varbind } from 'net-snmp'
import type { SnmpUser } from './snmp-config.ts'

/** Time for one answer; a host on the same network needs a few milliseconds. */
const TIMEOUT_MS = 800

/** Rows that an agent returns at most to one request (RFC 3416, 4.2.3). */
const MAX_REPETITIONS = 20

/** Most requests to one host, which also ends a walk through endless tables. */
const MAX_REQUESTS = 300

/** Event of a session whose request got an answer that the library failed on. */
const UNREADABLE = 'unreadable'

interface Receiver {
  onMsg(this: EventEmitter, bytes: Buffer): void
}

const { prototype } = (snmp as unknown as { Session: { prototype: Receiver } }).Session
const { onMsg } = prototype

/**
 * Drops answers that the library fails on: it throws where nobody catches, for instance at a wrong
 * security level, so that any host could end the process.
 */
prototype.onMsg = function (bytes) {
  try {
    onMsg.call(this, bytes)
  } catch {
    this.emit(UNREADABLE)
  }
}

interface SessionTarget {
  address: string
  port: number
  signal: AbortSignal
}

/** A value of an agent, by its object identifier. */
interface SnmpValue {
  oid: string
  value: unknown
}

/** Requests to one agent with one set of credentials, one after another. */
export class SnmpSession implements Disposable {
  readonly #session: Session
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => this[Symbol.dispose]()
  /** Ends the request in flight without an answer. */
  #abandon = (): void => {}
  #requests = 0
  #isClosed = false

  private constructor(session: Session, signal: AbortSignal) {
    this.#session = session
    this.#signal = signal
    // the library reports packets that it cannot read; the request then runs into its time limit
    session.on('error', () => {})
    session.on(UNREADABLE as 'error', () => this.#abandon())
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  static openCommunity(target: SessionTarget, community: string): SnmpSession {
    const options = { ...optionsOf(target), version: snmp.Version2c }
    return new SnmpSession(snmp.createSession(target.address, community, options), target.signal)
  }

  static openUser(target: SessionTarget, user: SnmpUser): SnmpSession {
    const session = snmp.createV3Session(target.address, toUser(user), optionsOf(target))
    return new SnmpSession(session, target.signal)
  }

  /** Engine of the agent, hexadecimal; known after the first answer of version 3, also a refusal. */
  get engineId(): string | undefined {
    const known = (
      this.#session as { msgSecurityParameters?: { msgAuthoritativeEngineID?: unknown } }
    ).msgSecurityParameters?.msgAuthoritativeEngineID
    return Buffer.isBuffer(known) && known.length >= 5 && known.length <= 32
      ? known.toString('hex')
      : undefined
  }

  /** Values of some objects; those that the agent lacks are left out. Undefined without an answer. */
  async get(oids: readonly string[]): Promise<SnmpValue[] | undefined> {
    return this.#ask(done => this.#session.get([...oids], done))
  }

  /** The values after an object, in order; undefined without an answer. */
  async getNext(oid: string): Promise<SnmpValue[] | undefined> {
    return this.#ask(done =>
      this.#session.getBulk([oid], 0, MAX_REPETITIONS, (error, found) =>
        done(error, found?.flat()),
      ),
    )
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#session.close()
  }

  #ask(
    send: (done: (error: Error | null, found?: Varbind[]) => void) => void,
  ): Promise<SnmpValue[] | undefined> {
    if (this.#isClosed || ++this.#requests > MAX_REQUESTS) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<SnmpValue[] | undefined>()
    this.#abandon = () => resolve(undefined)
    try {
      send((error, found) => resolve(error ? undefined : (found ?? []).flatMap(readVarbind)))
    } catch {
      // an answer that the library cannot read, or a socket that the system refused
      resolve(undefined)
    }
    return promise
  }
}

/** `noSuchObject` and `endOfMibView` are values of the protocol (RFC 3416, 3), not failures. */
const readVarbind = (varbind: Varbind): SnmpValue[] =>
  snmp.isVarbindError(varbind) ? [] : [{ oid: varbind.oid, value: varbind.value }]

const optionsOf = ({ address, port }: SessionTarget) => ({
  port,
  transport: address.includes(':') ? ('udp6' as const) : ('udp4' as const),
  timeout: TIMEOUT_MS,
  retries: 0,
  // an agent that goes back in its tables is ended by the walk
  backwardsGetNexts: true,
})

const toUser = ({ name, auth_protocol, priv_protocol, authKey, privKey }: SnmpUser): User => ({
  name,
  level: levelOf(authKey, privKey),
  ...(authKey !== undefined && {
    authProtocol: snmp.AuthProtocols[auth_protocol],
    authKey,
  }),
  ...(privKey !== undefined && {
    privProtocol: snmp.PrivProtocols[priv_protocol],
    privKey,
  }),
})

const levelOf = (authKey: string | undefined, privKey: string | undefined) => {
  if (authKey === undefined) return snmp.SecurityLevel.noAuthNoPriv
  return privKey === undefined ? snmp.SecurityLevel.authNoPriv : snmp.SecurityLevel.authPriv
}
