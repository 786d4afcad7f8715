import type { Logger } from 'pino'
import type { Helper } from '../helper/helper.ts'
import { checkModuleConfig } from './check-config.ts'
import type { DiscoveryConfig } from './config.ts'

interface LiveDiscoveryParts {
  config: DiscoveryConfig
  helper: Pick<Helper, 'call'>
  logger: Pick<Logger, 'info' | 'error'>
}

/** Settings of discovery in the cell's own file, as they are in force. */
export class LiveDiscovery implements DiscoveryConfig {
  readonly #parts: LiveDiscoveryParts
  #config: DiscoveryConfig
  /** Resolves when all reloads so far have ended. */
  #last: Promise<void> = Promise.resolve()

  constructor(parts: LiveDiscoveryParts) {
    this.#parts = parts
    this.#config = parts.config
  }

  get enabled(): boolean {
    return this.#config.enabled
  }

  get scope(): DiscoveryConfig['scope'] {
    return this.#config.scope
  }

  get large_scope(): DiscoveryConfig['large_scope'] {
    return this.#config.large_scope
  }

  get auto_run(): DiscoveryConfig['auto_run'] {
    return this.#config.auto_run
  }

  get modules(): DiscoveryConfig['modules'] {
    return this.#config.modules
  }

  /**
   * Brings new settings into force for the runs that start from then on. Settings with a fault are
   * logged, and the previous ones stay. Resolves in both cases.
   */
  reload(config: DiscoveryConfig): Promise<void> {
    const { helper, logger } = this.#parts
    this.#last = this.#last.then(async () => {
      try {
        await checkModuleConfig(config, helper)
        this.#config = config
        logger.info('discovery settings reloaded')
      } catch (error) {
        const { message: reason } = error as Error
        logger.error({ reason }, 'discovery settings not reloaded: the previous ones stay in force')
      }
    })
    return this.#last
  }
}
