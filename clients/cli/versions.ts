import { formatOutput } from '../../shared/print.ts'
import { VERSION } from '../../shared/version.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { createApi } from './api.ts'
import type { Environment, GlobalOptions } from './options.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { trustAuthorities } from './session.ts'
import { resolveSettings } from './settings.ts'

/** Longest wait for the coordinator's version. */
const ASK_MS = 1000

/**
 * Prints the version of this program and of the coordinator, if it answers at once. Needs no key.
 */
export const showVersions = async (options: GlobalOptions, env: Environment): Promise<void> => {
  const { key: _key, ...others } = options
  const server = await serverVersion(others, env).catch(() => undefined)
  if (options.format === 'json') {
    process.stdout.write(formatOutput({ version: VERSION, coordinator: server ?? null }, 'json'))
    return
  }
  process.stdout.write(`shoal ${VERSION}\n`)
  if (server !== undefined)
    process.stdout.write(`coordinator ${escapeHidden(server.version)} at ${server.url}\n`)
}

const serverVersion = async (options: GlobalOptions, env: Environment) => {
  const settings = resolveSettings(options, env, readProfiles(profilesFile(env)))
  trustAuthorities(settings)
  const signal = AbortSignal.timeout(ASK_MS)
  const { url } = settings
  const health = (await createApi({ url, key: undefined, signal }).get('/health')) as object
  const version = 'version' in health ? String(health.version) : undefined
  return version === undefined ? undefined : { url, version }
}
