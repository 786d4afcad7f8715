import { ShoalError } from '../../shared/errors.ts'
import { createApi } from './api.ts'
import { GuidedError } from './describe-failure.ts'
import type { Environment, GlobalOptions } from './options.ts'
import {
  type ConnectionProfile,
  isProfileName,
  type Profiles,
  readProfiles,
  writeProfiles,
} from './profiles.ts'
import { readSecret } from './read-secret.ts'
import { trustAuthorities } from './session.ts'
import { DEFAULT_URL } from './settings.ts'
import { fetchPinnedAuthority, readAuthorities } from './trust.ts'

interface CliLoginOptions extends GlobalOptions {
  pin?: string
  check: boolean
}

const DEFAULT_NAME = 'default'

/** Keeps a profile and makes it the current one. A key that is refused is not kept. */
export const login = async (options: CliLoginOptions, env: Environment, file: string) => {
  const name = options.profile ?? (env.SHOAL_PROFILE || DEFAULT_NAME)
  if (!isProfileName(name))
    throw new ShoalError('wrong_usage', 'a profile name consists of letters, digits, . _ and -')
  const kept = readProfiles(file)
  const before = Object.hasOwn(kept.profiles, name) ? kept.profiles[name] : undefined
  const url = addressOf(options.url ?? before?.url ?? (env.SHOAL_URL || DEFAULT_URL))
  const ca = await authority(options, url, before)
  const profile: ConnectionProfile = {
    url,
    key: await keyOf(options),
    ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
    ...(ca === undefined ? {} : { ca }),
  }
  const checked = options.check ? await check(profile) : false
  const after: Profiles = { current: name, profiles: { ...kept.profiles, [name]: profile } }
  await writeProfiles(file, after)
  return { profile: name, url, mcp: `${url}/mcp/?toolsets=find`, checked, kept_in: file }
}

const addressOf = (text: string): string => {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) {
    const { origin, username, password } = new URL(text)
    if (username === '' && password === '') return origin
    throw new ShoalError('wrong_usage', 'remove the name and password from the address')
  }
  throw new ShoalError('wrong_usage', `${text} is not an address: give http://… or https://…`)
}

/** Certificate authority for an address; one that was trusted there before is used again. */
const authority = async (
  { caFile, pin }: CliLoginOptions,
  url: string,
  before: ConnectionProfile | undefined,
): Promise<string | undefined> => {
  if (caFile !== undefined) return readAuthorities(caFile)
  if (pin !== undefined) return fetchPinnedAuthority(url, pin)
  return before?.url === url ? before.ca : undefined
}

const keyOf = ({ key }: CliLoginOptions): Promise<string> | string =>
  key === undefined || key === '-' ? readSecret('key: ') : key

/** Every key may see the skills. */
const check = async ({ url, key, tenant, ca }: ConnectionProfile): Promise<true> => {
  await trustAuthorities({ ca, caFile: undefined })
  try {
    await createApi({ url, key, tenant }).get('/v1/skills')
  } catch (error) {
    throw error instanceof ShoalError && error.code === 'auth_required'
      ? createKeyRefusedError(url)
      : error
  }
  return true
}

const createKeyRefusedError = (url: string): ShoalError =>
  new GuidedError(
    'auth_required',
    `${url} rejected this key; it was not stored`,
    'it may be mistyped, revoked, expired or of another coordinator: log in with another one',
  )
