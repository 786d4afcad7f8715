import type { ReplicasBody } from '../../shared/wire/replicas.ts'
import { type CoordinatorTrust, isTrustedAddress } from '../coordinator-url.ts'

/** A coordinator that lives, as another one or itself has named it. */
interface LiveCoordinator {
  id: string
  /** URL that reaches it alone; undefined when it shares the configured one. */
  address: string | undefined
}

/**
 * The coordinators of this cell's fleet: the configured URL, and what a coordinator said last about
 * who lives. Shared by the control plane and the data plane.
 */
export class KnownCoordinators {
  readonly #trust: CoordinatorTrust
  readonly #listeners = new Set<() => void>()
  #live: readonly LiveCoordinator[] = []
  #isCurrent = false

  constructor(trust: CoordinatorTrust) {
    this.#trust = trust
  }

  /** URL that the cell was configured with; any coordinator may answer there. */
  get url(): string {
    return this.#trust.url
  }

  /** The coordinators that live; none while no control session could tell. */
  get live(): readonly LiveCoordinator[] {
    return this.#isCurrent ? this.#live : []
  }

  /** URLs to try in turn while no coordinator is connected. */
  get urls(): readonly string[] {
    return [this.url, ...this.#live.flatMap(({ address }) => address ?? [])]
  }

  /** Takes the newest list; an address that this cell must not trust counts as none. */
  learn({ replicas }: ReplicasBody): void {
    this.#live = replicas.map(({ id, address }) => ({
      id,
      address:
        address !== undefined && isTrustedAddress(address, this.#trust) ? address : undefined,
    }))
    this.#isCurrent = true
    this.#notify()
  }

  /** The last control session has ended: who lives is unknown until the next one. */
  forget(): void {
    this.#isCurrent = false
    this.#notify()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
