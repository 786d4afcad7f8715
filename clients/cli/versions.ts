import { formatOutput } from '../../shared/print.ts'
import { VERSION } from '../../shared/version.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { createApi } from './api.ts'
import type { Environment, Options } from './options.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { believe } from './session.ts'
import { settingsOf } from './settings.ts'

/** Nobody waits long for a version. */
const ASK_MS = 1000

/** This program's version, and the coordinator's if it tells at once. It needs no key. */
export const showVersions = async (options: Options, env: Environment): Promise<void> => {
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

const serverVersion = async (options: Options, env: Environment) => {
  const settings = settingsOf(options, env, readProfiles(profilesFile(env)))
  believe(settings)
  const signal = AbortSignal.timeout(ASK_MS)
  const { url } = settings
  const health = (await createApi({ url, key: undefined, signal }).get('/health')) as object
  const version = 'version' in health ? String(health.version) : undefined
  return version === undefined ? undefined : { url, version }
}
