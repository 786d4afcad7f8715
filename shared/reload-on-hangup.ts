import type { Logger } from 'pino'
import type { LoadedConfig } from './config.ts'

/** Registers a listener for the configuration after each reload. */
export type OnReload<C> = (listener: (config: C) => void) => void

/**
 * Reads the configuration again on each SIGHUP and hands it to the listeners. A configuration with a
 * fault is logged and changes nothing.
 */
export const reloadOnHangup = <C>(
  read: () => LoadedConfig<C>,
  logger: Pick<Logger, 'warn' | 'error'>,
  source: Pick<NodeJS.EventEmitter, 'on'> = process,
): OnReload<C> => {
  const listeners: ((config: C) => void)[] = []
  source.on('SIGHUP', () => {
    if (listeners.length === 0) return logger.warn('nothing to reload: no part takes new settings')
    try {
      const loaded = read()
      if (loaded.action === 'run') for (const listener of listeners) listener(loaded.config)
    } catch (error) {
      logger.error({ reason: (error as Error).message }, 'configuration not read again')
    }
  })
  return listener => void listeners.push(listener)
}
