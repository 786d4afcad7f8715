import { readFileSync, statSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'

const NAME = /^[a-z0-9][\w.-]{0,63}$/i

export const isProfileName = (name: string): boolean => NAME.test(name)

/** A coordinator and the credentials for it. */
export interface ConnectionProfile {
  url: string
  key?: string
  tenant?: string
  /** The only certificate authorities trusted at this address, PEM. */
  ca?: string
}

export interface Profiles {
  /** The one that is used when none is named. */
  current?: string
  profiles: Record<string, ConnectionProfile>
}

/** Longest value of each member, in characters. */
const MAX_CHARS: Record<string, number> = { url: 2048, key: 512, tenant: 256, ca: 65_536 }

/**
 * Checks the profiles by hand: a library of schemas would double the start time of each command.
 */
const isProfiles = (value: unknown): value is Profiles => {
  if (!isObject(value)) return false
  const { current, profiles, ...others } = value
  return (
    Object.keys(others).length === 0 &&
    (current === undefined || (typeof current === 'string' && isProfileName(current))) &&
    isObject(profiles) &&
    Object.entries(profiles).every(([name, each]) => isProfileName(name) && isProfile(each))
  )
}

const isProfile = (value: unknown): boolean =>
  isObject(value) &&
  'url' in value &&
  Object.entries(value).every(
    ([name, text]) =>
      Object.hasOwn(MAX_CHARS, name) &&
      typeof text === 'string' &&
      text.length <= (MAX_CHARS[name] ?? 0),
  )

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The place of the XDG base directory specification. */
export const profilesFile = (env: Record<string, string | undefined>): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'shoal', 'profiles.json')

/**
 * Stored profiles; empty when there is no file. Throws `config_invalid` for a damaged file and for
 * one that other users can read or own, as its keys are no longer secret.
 */
export const readProfiles = (file: string): Profiles => {
  try {
    const { mode, uid } = statSync(file)
    requirePrivate(file, mode, uid)
    const profiles: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isProfiles(profiles)) return profiles
    throw new TypeError('it does not have the fields of a profiles file')
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return { profiles: {} }
    // the cause may quote the file, and with it a key
    throw new ShoalError('config_invalid', `${file} cannot be read as profiles${codeSuffix(code)}`)
  }
}

/** Replaces the file, for its owner alone, in a folder for its owner alone. */
export const writeProfiles = async (file: string, profiles: Profiles): Promise<void> => {
  const folder = dirname(file)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  } catch (cause) {
    throw new ShoalError('store_unavailable', `cannot make ${folder}`, { cause })
  }
  const { replacePrivate } = await import('../../shared/private-file.ts')
  await replacePrivate(file, `${JSON.stringify(profiles, null, 2)}\n`)
}

const OTHERS = 0o077

const requirePrivate = (file: string, mode: number, uid: number): void => {
  const own = process.geteuid?.() ?? uid
  if (uid !== own && uid !== 0)
    throw new ShoalError('config_invalid', `${file} belongs to another user`)
  if ((mode & OTHERS) === 0) return
  const shown = (mode & 0o777).toString(8)
  throw new ShoalError(
    'config_invalid',
    `${file} has keys and others may use it (mode ${shown}): chmod 600 ${file}`,
  )
}

const codeSuffix = (code: string | undefined): string => (code === undefined ? '' : ` (${code})`)
