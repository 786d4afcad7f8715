import type { Logger } from 'pino'
import type { LoadedConfig } from './config.ts'

/**
 * Registers a listener for the configuration after each reload, with the keys that it applies, such
 * as `site` or `log.level`. A key covers those below it; one that begins with `-` is excepted.
 */
export type OnReload<C> = (keys: readonly string[], listener: (config: C) => void) => void

interface ReloadParts<C> {
  /** Reads the configuration again. */
  read: () => LoadedConfig<C>
  /** Configuration that the process was started with. */
  started: C
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  source?: Pick<NodeJS.EventEmitter, 'on'>
}

/**
 * Reads the configuration again on each SIGHUP, hands it to the listeners, and logs which changed
 * keys they apply and which ones only a restart applies. A configuration with a fault is logged and
 * changes nothing.
 */
export const reloadOnHangup = <C extends object>({
  read,
  started,
  logger,
  source = process,
}: ReloadParts<C>): OnReload<C> => {
  const listeners: ((config: C) => void)[] = []
  const applied: string[] = []
  let inForce = started
  source.on('SIGHUP', () => {
    try {
      const loaded = read()
      if (loaded.action !== 'run') return
      const { config } = loaded
      const isApplied = (key: string) => covers(applied, key)
      const reloaded = listChanges(inForce, config).filter(isApplied)
      const restart = listChanges(started, config).filter(key => !isApplied(key))
      inForce = config
      for (const listener of listeners) listener(config)
      const line = { reloaded, needs_restart: restart }
      if (restart.length > 0)
        logger.warn(line, 'configuration read again; some changes need a restart')
      else logger.info(line, 'configuration read again')
    } catch (error) {
      logger.error({ reason: (error as Error).message }, 'configuration not read again')
    }
  })
  return (keys, listener) => {
    applied.push(...keys)
    listeners.push(listener)
  }
}

const covers = (applied: readonly string[], key: string): boolean => {
  const isBelow = (above: string) => key === above || key.startsWith(`${above}.`)
  return (
    applied.some(isBelow) && !applied.some(each => each.startsWith('-') && isBelow(each.slice(1)))
  )
}

/** Keys of the values that differ, such as `http.port`; a list counts as one value. */
const listChanges = (before: unknown, after: unknown, path: string[] = []): string[] => {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (!isObject(before) || !isObject(after)) return [path.join('.')]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap(name => listChanges(before[name], after[name], [...path, name]))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
