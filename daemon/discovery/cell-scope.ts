import {
  type DiscoverySettings,
  MAX_SCOPE_ENTRIES,
  type ScanScope,
  type ScopeEntry,
} from '../../shared/wire/scan-scope.ts'
import type { DiscoveryConfig } from './config.ts'
import { type OwnNetworks, readOwnNetworks } from './own-networks.ts'

interface CellScopeParts {
  config: Pick<DiscoveryConfig, 'scope' | 'large_scope'>
  readNetworks?: () => OwnNetworks
}

/** What this cell may scan, and whether modules run by themselves. */
export class CellScope {
  readonly #own: readonly ScopeEntry[]
  readonly #readNetworks: () => OwnNetworks
  #settings: DiscoverySettings = {}

  constructor({ config, readNetworks = readOwnNetworks }: CellScopeParts) {
    this.#readNetworks = readNetworks
    this.#own = [
      ...config.scope.map(target => ({ target })),
      ...config.large_scope.map(target => ({ target, is_forced: true })),
    ]
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
    return { entries: [...this.#own, ...(this.#settings.scope ?? [])], excluded }
  }

  /** Subnets of this machine, as proposals for the scope. */
  listProposals(): string[] {
    return this.#readNetworks().proposals
  }
}
