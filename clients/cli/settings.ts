import { ShoalError } from '../../shared/errors.ts'
import type { Environment, GlobalOptions } from './options.ts'
import type { ConnectionProfile, Profiles } from './profiles.ts'

export const DEFAULT_URL = 'http://127.0.0.1:7070'

/** Coordinator, key and trust in use, with the source of each. */
export interface CliSettings {
  url: string
  /** Source of the URL: `--url`, `SHOAL_URL`, `the profile work` or `the default`. */
  urlFrom: string
  key: string | undefined
  keyFrom: string | undefined
  tenant: string | undefined
  /** PEM of the only certificate authorities that are trusted. */
  ca: string | undefined
  caFile: string | undefined
  profile: string | undefined
  /** Reason why the profile's key is not used. */
  keyHeldBack: string | undefined
}

/**
 * Resolves settings: flags win, including those of a profile that a flag names; then the
 * environment, then the profile of `SHOAL_PROFILE` or the current one. The key of a profile is only
 * used with the address of that profile.
 */
export const resolveSettings = (
  options: GlobalOptions,
  env: Environment,
  kept: Profiles,
): CliSettings => {
  const named = options.profile
  const name = named ?? (env.SHOAL_PROFILE || kept.current)
  const profile = name === undefined ? undefined : profileOf(kept, name)
  const said = `the profile ${name}`
  const flagged = named === undefined ? undefined : profile
  const [url, urlFrom] = pickFirst(
    [options.url, '--url'],
    [flagged?.url, said],
    [env.SHOAL_URL, 'SHOAL_URL'],
    [profile?.url, said],
  ) ?? [DEFAULT_URL, 'the default']
  const own = profile !== undefined && isSamePlace(profile.url, url) ? profile : undefined
  const key = pickFirst(
    [options.key, '--key'],
    [named === undefined ? undefined : own?.key, said],
    [env.SHOAL_KEY, 'SHOAL_KEY'],
    [own?.key, said],
  )
  return {
    url,
    urlFrom,
    key: key?.[0],
    keyFrom: key?.[1],
    tenant: pickFirst(
      [options.tenant, ''],
      [named === undefined ? undefined : own?.tenant, ''],
      [env.SHOAL_TENANT, ''],
      [own?.tenant, ''],
    )?.[0],
    ca: own?.ca,
    caFile: options.caFile ?? (env.SHOAL_CA_FILE || undefined),
    profile: name,
    keyHeldBack:
      key === undefined && own === undefined && profile?.key !== undefined
        ? `the key of ${said} is valid for ${profile.url} only`
        : undefined,
  }
}

const profileOf = ({ profiles }: Profiles, name: string): ConnectionProfile => {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found === undefined) throw new ShoalError('config_invalid', `there is no profile ${name}`)
  return found
}

const pickFirst = (
  ...all: (readonly [value: string | undefined, from: string])[]
): [string, string] | undefined => {
  const [value, from = ''] = all.find(([each]) => each !== undefined && each !== '') ?? []
  return value === undefined ? undefined : [value, from]
}

const isSamePlace = (a: string, b: string): boolean =>
  URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin
