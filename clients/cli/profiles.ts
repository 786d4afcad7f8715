import { readFileSync, statSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { replacePrivate } from '../../shared/private-file.ts'

export const ProfileName = z.string().regex(/^[a-z0-9][\w.-]{0,63}$/i)

/** A coordinator and the credentials for it. */
export const ConnectionProfile = z.strictObject({
  url: z.string().max(2048),
  key: z.string().max(512).exactOptional(),
  tenant: z.string().max(256).exactOptional(),
  /** The only certificate authorities trusted at this address, PEM. */
  ca: z.string().max(65_536).exactOptional(),
})
export type ConnectionProfile = z.infer<typeof ConnectionProfile>

export const Profiles = z.strictObject({
  /** The one that is used when none is named. */
  current: ProfileName.exactOptional(),
  profiles: z.record(ProfileName, ConnectionProfile),
})
export type Profiles = z.infer<typeof Profiles>

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
    return Profiles.parse(JSON.parse(readFileSync(file, 'utf8')))
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
