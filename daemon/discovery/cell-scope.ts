import {
  type DiscoverySettings,
  MAX_SCOPE_ENTRIES,
  type ScanScope,
  type ScopeEntry,
} from '../../shared/wire/scan-scope.ts'
import type { DiscoveryConfig } from './config.ts'
import { type OwnNetworks, readOwnNetworks } from './own-networks.ts'

interface CellScopeParts {
  /** Read for each run, since a reload replaces its values. */
  config: Pick<DiscoveryConfig, 'scope' | 'large_scope'>
  readNetworks?: () => OwnNetworks
}

/** Targets that this cell may scan, and whether modules run automatically. */
export class CellScope {
  readonly #config: CellScopeParts['config']
  readonly #readNetworks: () => OwnNetworks
  #settings: DiscoverySettings = {}

  constructor({ config, readNetworks = readOwnNetworks }: CellScopeParts) {
    this.#readNetworks = readNetworks
    this.#config = config
  }

  /** Replaces the settings that the coordinator has made. */
  setSettings(settings: DiscoverySettings): void {
    this.#settings = settings
  }

  get isAutoRun(): boolean {
    return this.#settings.auto_run ?? false
  }

  /** The scope of a run that starts now; bridges may have come since the last one. */
  read(): ScanScope {
    const excluded = this.#readNetworks().excluded.slice(0, MAX_SCOPE_ENTRIES)
    return { entries: [...this.#listOwn(), ...(this.#settings.scope ?? [])], excluded }
  }

  #listOwn(): ScopeEntry[] {
    const { scope, large_scope } = this.#config
    return [
      ...scope.map(target => ({ target })),
      ...large_scope.map(target => ({ target, is_forced: true })),
    ]
  }

  /** Subnets of this machine, as proposals for the scope. */
  listProposals(): string[] {
    return this.#readNetworks().proposals
  }
}
