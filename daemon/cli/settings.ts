import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type GivenSetting, loadConfig } from '../../shared/config.ts'
import { ShoalError } from '../../shared/errors.ts'
import { DaemonConfig } from '../config.ts'
import type { CommandContext } from './command.ts'

interface ShoaldSettings {
  config: DaemonConfig
  /** Settings from flags and the environment. */
  given: readonly GivenSetting[]
  /** Configuration file that was named, whether it exists or not. */
  file: string | undefined
}

/**
 * The configuration the daemon would use. A named file that does not exist is an error, or counts
 * as empty with `mayMiss`, for a caller that is about to write it.
 */
export const readSettings = (
  { env }: Pick<CommandContext, 'env'>,
  argv: string[],
  { mayMiss = false }: { mayMiss?: boolean } = {},
): ShoaldSettings => {
  const at = argv.indexOf('--config')
  const file = at < 0 ? env.SHOAL_CONFIG : argv[at + 1]
  const missing = mayMiss && file !== undefined && !existsSync(file)
  const flags = missing && at >= 0 ? argv.toSpliced(at, 2) : argv
  const { SHOAL_CONFIG, ...others } = env
  const loaded = loadConfig({
    program: 'shoald',
    schema: DaemonConfig,
    argv: flags,
    env: missing ? others : env,
  })
  if (loaded.action !== 'run') throw new ShoalError('config_invalid', 'no configuration')
  const { config, given } = loaded
  return { config: { ...config, state_dir: resolve(config.state_dir) }, given, file }
}
