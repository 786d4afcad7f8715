import { ShoalError } from '../../shared/errors.ts'
import { REPLICA_ID } from '../../shared/ids.ts'
import { wait as realWait, type Wait, waitUntilAborted } from '../../shared/wait.ts'
import type { HealthRegistry } from '../health.ts'
import { Nudge } from '../uplink/nudge.ts'
import type { QuarantineNotice } from '../uplink/quarantine-notice.ts'
import { type Coverage, describeCoverage, describeLoss, isComplete } from './coverage.ts'
import { type Endpoint, Endpoints, MAX_FAILURES } from './endpoints.ts'
import type { KnownCoordinators } from './known-coordinators.ts'
import { isLasting, pauseAfter, pauseBetween } from './pauses.ts'

/** Target of one dial. */
export interface DialTarget {
  url: string
  /** Coordinators that must refuse, because this plane is connected to them already. */
  linked: readonly string[]
}

export interface ConnectionEvents {
  /**
   * The coordinator has answered; returns its id. Throws `conflict` when this plane is connected to
   * it already: the new connection must then be closed unused.
   */
  onMet(replica: string | undefined): string
  /** The connection is usable. */
  onUp(): void
}

export interface PlaneOptions {
  /** Name in the health view. */
  name: string
  known: KnownCoordinators
  /** One connection from the dial to its end: resolves or rejects when it is over. */
  connect(target: DialTarget, events: ConnectionEvents): Promise<void>
  signal: AbortSignal
  health: HealthRegistry
  /** Nudge shared by both planes. */
  nudge: Nudge
  quarantine?: QuarantineNotice | undefined
  /** Receives the name of the plane and its coverage, whenever that may have changed. */
  onCoverage?: ((plane: string, coverage: Coverage) => void) | undefined
  wait?: Wait | undefined
  random?: (() => number) | undefined
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

interface Connection {
  id: string | undefined
  upAtMs: number
}

/** A connection that lasted this long was healthy: the next retry is fast again. */
const SOUND_MS = 5000
/**
 * Attempt from which the search for a coordinator goes on whose connection has ended: it has
 * probably left, and will be off the list within seconds.
 */
const FAMILIAR_ATTEMPT = 6

/**
 * Keeps one plane of the cell connected to every coordinator that lives. With none connected, it
 * dials again and again with growing pauses; with some, it looks for the others gently.
 */
export class PlaneConnections {
  readonly #options: PlaneOptions
  readonly #wait: Wait
  readonly #random: () => number
  readonly #now: () => number
  /** Connected coordinators by id, the longest connected first. */
  readonly #met = new Map<string, Connection>()
  /** Connections that are being made or served. */
  readonly #open = new Set<Promise<void>>()
  /** Rung when a coordinator is missing that was not before, or is missing elsewhere too. */
  readonly #change = new Nudge()
  #changes = 0
  readonly #endpoints: Endpoints
  /** Dials since a connection was healthy. */
  #attempt = 0
  /** Reason why no coordinator is connected; undefined before the first dial. */
  #loss: Error | undefined

  constructor(options: PlaneOptions) {
    this.#options = options
    this.#wait = options.wait ?? realWait
    this.#random = options.random ?? Math.random
    this.#now = options.now ?? (() => performance.now())
    this.#endpoints = new Endpoints({
      known: options.known,
      met: this.#met,
      signal: options.signal,
    })
  }

  /** Resolves when the signal has aborted and every connection is over. */
  async run(): Promise<void> {
    const { name, known, health } = this.#options
    const off = known.onChange(() => this.#onListed())
    this.#onListed()
    await this.#seek(this.#endpoints.shared)
    off()
    this.#endpoints.close()
    await Promise.all(this.#open)
    health.report(name, 'stopped')
  }

  /** Dials whenever something is wanted behind the endpoint, until its signal aborts. */
  async #seek(endpoint: Endpoint): Promise<void> {
    while (!endpoint.signal.aborted) {
      if (!endpoint.isWanted()) await this.#change.wait(waitUntilAborted, 0, endpoint.signal)
      else if (await this.#pause(endpoint)) await this.#dial(endpoint)
    }
  }

  /** Waits before a dial. Returns false when the dial is not wanted any more, or not yet. */
  async #pause(endpoint: Endpoint): Promise<boolean> {
    const isAlone = () => endpoint === this.#endpoints.shared && this.#met.size === 0
    const wasAlone = isAlone()
    const isTime = await (wasAlone ? this.#pauseAlone(endpoint) : this.#pauseBeside(endpoint))
    return isTime && endpoint.isWanted() && isAlone() === wasAlone && !endpoint.signal.aborted
  }

  /** Pause while no coordinator is connected; a connection of the other plane ends it. */
  async #pauseAlone({ signal }: Endpoint): Promise<boolean> {
    if (this.#loss === undefined) return true
    const pauseMs = pauseAfter(this.#loss, this.#attempt++, this.#random)
    await this.#options.nudge.wait(this.#wait, pauseMs, signal)
    return true
  }

  /** Pause beside a connected coordinator. Returns false when a change makes another one due. */
  async #pauseBeside(endpoint: Endpoint): Promise<boolean> {
    const { error, signal } = endpoint
    const changes = this.#changes
    const pauseMs = pauseBetween(error, endpoint.attempt++, this.#random)
    const isLong = error !== undefined && isLasting(error)
    await (isLong ? this.#options.nudge : this.#change).wait(this.#wait, pauseMs, signal)
    return isLong || changes === this.#changes
  }

  /** Resolves once the connection is usable or over. */
  #dial(endpoint: Endpoint): Promise<void> {
    const { connect } = this.#options
    const connection: Connection = { id: undefined, upAtMs: Number.POSITIVE_INFINITY }
    const linked = [...this.#met.keys()].filter(id => REPLICA_ID.test(id))
    return new Promise(resolve => {
      const onMet = (replica: string | undefined) => this.#registerReplica(connection, replica)
      const onUp = () => {
        this.#markUp(connection, endpoint)
        resolve()
      }
      const served = connect({ url: endpoint.url(), linked }, { onMet, onUp })
        .then(
          () => new Error('the connection ended'),
          (cause: Error) => cause,
        )
        .then(error => {
          this.#open.delete(served)
          this.#end(connection, endpoint, error)
          resolve()
        })
      this.#open.add(served)
    })
  }

  #registerReplica(connection: Connection, replica: string | undefined): string {
    const id = replica ?? this.#options.known.url
    if (this.#met.has(id)) throw new ShoalError('conflict', `${id} is connected already`)
    connection.id = id
    this.#met.set(id, connection)
    return id
  }

  #markUp(connection: Connection, endpoint: Endpoint): void {
    const { nudge, quarantine } = this.#options
    connection.upAtMs = this.#now()
    endpoint.error = undefined
    endpoint.failures = 0
    this.#report()
    nudge.ring()
    quarantine?.onAccepted()
  }

  #end({ id, upAtMs }: Connection, endpoint: Endpoint, error: Error): void {
    const { signal, quarantine } = this.#options
    if (id !== undefined) this.#met.delete(id)
    if (signal.aborted) return
    if (this.#now() - upAtMs >= SOUND_MS) {
      this.#attempt = 0
      this.#endpoints.resume(FAMILIAR_ATTEMPT)
    }
    endpoint.error = error
    if (this.#met.size === 0) this.#loss = error
    this.#report(error)
    quarantine?.onRefused(error)
    if (id !== undefined || ++endpoint.failures === MAX_FAILURES) this.#ring()
  }

  /** Looks at once for coordinators that are on the list for the first time. */
  #onListed(): void {
    const { hasGained, opened } = this.#endpoints.follow()
    this.#report()
    for (const endpoint of opened) {
      const sought: Promise<void> = this.#seek(endpoint).finally(() => this.#open.delete(sought))
      this.#open.add(sought)
    }
    if (hasGained) this.#ring()
  }

  #ring(): void {
    this.#changes++
    this.#change.ring()
  }

  #report(error?: Error): void {
    const { name, health, onCoverage } = this.#options
    const coverage = this.#measureCoverage()
    onCoverage?.(name, coverage)
    if (coverage.connected > 0)
      health.report(name, 'running', isComplete(coverage) ? undefined : describeCoverage(coverage))
    else if (error !== undefined) health.report(name, 'waiting', describeLoss(error))
  }

  #measureCoverage(): Coverage {
    const isUp = ({ upAtMs }: Connection) => upAtMs <= this.#now()
    const all = new Set([...this.#met.keys(), ...this.#options.known.live.map(({ id }) => id)])
    return { connected: [...this.#met.values()].filter(isUp).length, live: all.size }
  }
}
