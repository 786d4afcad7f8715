import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Models } from '../models/models.ts'
import { CONFIG_SCOPES } from './config.table.ts'
import {
  type ConfigDocument,
  configKeyOf,
  EGRESS,
  FLEET,
  readConfigs,
  type UnreadableConfig,
} from './config-store.ts'

export type Egress = 'on' | 'off'

interface KnownParts {
  ledger: Ledger
  models: Pick<Models, 'version' | 'look'> | undefined
  logger: Logger
}

const EGRESS_KEY = configKeyOf('fleet', EGRESS)

const SCOPES: ReadonlySet<string> = new Set(CONFIG_SCOPES)

/** Stored documents of configuration, as this coordinator knows them. */
export class KnownConfigs {
  readonly #parts: KnownParts
  readonly #documents = new Map<string, ConfigDocument>()
  /** Documents that cannot be read: without their limits and scopes, cells must not be configured. */
  readonly #unreadable = new Map<string, UnreadableConfig>()
  #settled = 0
  /** Changes that the cells connected here have not been sent. */
  readonly pendingChanges = new Set<Pick<ConfigDocument, 'scope' | 'name' | 'version'>>()

  constructor(parts: KnownParts) {
    this.#parts = parts
  }

  /** Version up to which every change is known, whichever coordinator has made it. */
  get settled(): number {
    return this.#settled
  }

  /** True when every document can be read. */
  get isReadable(): boolean {
    return this.#unreadable.size === 0
  }

  get egress(): Egress {
    if (!this.isEgressReadable) return 'off'
    return (this.#documents.get(EGRESS_KEY)?.document.egress as Egress | undefined) ?? 'on'
  }

  get isEgressReadable(): boolean {
    return !this.#unreadable.has(EGRESS_KEY)
  }

  get egressVersion(): number {
    return this.#versionOf(EGRESS_KEY)
  }

  /** Every document that can be read. */
  list(): ConfigDocument[] {
    return [...this.#documents.values()]
  }

  /**
   * Documents of a cell, in the order of the keys. Throws `internal` when one of them cannot be read,
   * or one of a scope that only a newer version knows, and may limit the cell.
   */
  listFor(cellId: string, keys: readonly string[]): ConfigDocument[] {
    for (const [key, { scope, name, mayLimit }] of this.#unreadable)
      if (keys.includes(key) || (!SCOPES.has(scope) && mayLimit))
        throw new ShoalError(
          'internal',
          `the configuration of ${cellId} is unknown: that of ${scope} ${name} cannot be read`,
        )
    return keys.flatMap(key => this.#documents.get(key) ?? [])
  }

  keep(config: ConfigDocument): void {
    const key = configKeyOf(config.scope, config.name)
    this.#documents.set(key, config)
    this.#unreadable.delete(key)
    this.pendingChanges.add(config)
  }

  /**
   * Takes over what other coordinators have set. Documents and models share their versions, which
   * are committed in order: once both were read, no version that was known before is missing.
   */
  readonly catchUp = shareRuns(async () => {
    do {
      const known = this.#findNewest()
      await this.#parts.models?.look()
      await this.#readNews()
      this.#settled = known
    } while (this.#findNewest() > this.#settled)
  })

  #findNewest(): number {
    let newest = this.#parts.models?.version ?? 0
    for (const { version } of [...this.#documents.values(), ...this.#unreadable.values()])
      newest = Math.max(newest, version)
    return newest
  }

  #versionOf(key: string): number {
    return (this.#documents.get(key) ?? this.#unreadable.get(key))?.version ?? 0
  }

  /** Reads documents that have changed since `settled`, and those that could not be read. */
  async #readNews(): Promise<void> {
    const unread = [...this.#unreadable]
    const after = Math.min(this.#settled, ...unread.map(([, { version }]) => version - 1))
    const configs = await readConfigs(this.#parts.ledger, after, this.#parts.logger)
    for (const config of configs) this.#takeOver(config)
    const stored = new Set(configs.map(({ scope, name }) => configKeyOf(scope, name)))
    for (const [key, config] of unread) if (!stored.has(key)) this.#forget(key, config)
  }

  #takeOver(config: ConfigDocument | UnreadableConfig): void {
    const key = configKeyOf(config.scope, config.name)
    const isRepaired =
      config.document !== undefined && this.#unreadable.get(key)?.version === config.version
    if (config.version !== 0 && config.version <= this.#versionOf(key) && !isRepaired) return
    if (config.document === undefined) {
      this.#documents.delete(key)
      this.#unreadable.set(key, config)
    } else this.keep(config)
  }

  /** A row that is stored no more, or under another scope, does not hold cells any longer. */
  #forget(key: string, { scope, name, version }: UnreadableConfig): void {
    if (!this.#unreadable.delete(key)) return
    const isKnown = SCOPES.has(scope)
    this.pendingChanges.add(
      isKnown ? { scope, name, version } : { scope: 'fleet', name: FLEET, version },
    )
  }
}
