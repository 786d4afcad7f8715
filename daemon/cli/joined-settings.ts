import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isMap, parseDocument } from 'yaml'
import type { GivenSetting } from '../../shared/config.ts'
import { ShoalError } from '../../shared/errors.ts'
import { createPrivate } from '../../shared/private-file.ts'
import { replaceFile } from '../../shared/replace-file.ts'
import type { DaemonConfig } from '../config.ts'

/** The configuration file as it will be once the machine has joined. */
export interface JoinedSettings {
  path: string
  isNew: boolean
  /** Keys with a dot that get another value, `coordinator.url`. */
  changed: string[]
  /** True where a value is among them that is never printed, such as the credential of a module. */
  hasHidden: boolean
  /** Writes the file; true when it did not exist and was created. */
  write(): Promise<boolean>
}

/** Used once: neither belongs into the file of a cell that has an identity. */
const TOKENS = ['join_token', 'join_token_file']

/**
 * Keeps what `join` was told, and leaves everything else in the file as it is, with its comments.
 * Throws `config_invalid` where the folder of the file is missing, and `store_unavailable` where the
 * file cannot be written: a token would be spent in vain.
 */
export const planSettings = (
  path: string,
  config: Pick<DaemonConfig, 'name' | 'state_dir'>,
  given: readonly GivenSetting[],
): JoinedSettings => {
  requireFolder(dirname(path), config.state_dir)
  const isNew = !existsSync(path)
  const document = parseDocument(isNew ? '' : readFileSync(path, 'utf8'))
  // what a program writes into `{}` would stay on that one line
  if (isMap(document.contents) && document.contents.items.length === 0)
    document.contents.flow = false
  const changed: string[] = []
  for (const { path: key, value } of listTold(config, given, isNew)) {
    if (TOKENS.includes(key.at(-1) ?? '')) continue
    if (isDeepStrictEqual(valueAt(document.toJS(), key), value)) continue
    document.setIn(key, value)
    changed.push(key.join('.'))
  }
  if (changed.length > 0) requireWritable(path)
  const text = String(document)
  const write = async (): Promise<boolean> => {
    if (isNew) return createPrivate(path, text)
    if (changed.length > 0) replaceFile(path, text)
    return false
  }
  const hasHidden = given.some(({ isHidden }) => isHidden)
  return { path, isNew, changed, hasHidden, write }
}

/** A new file also has the name and the folder, which is absolute: the daemon may start elsewhere. */
const listTold = (
  { name, state_dir }: Pick<DaemonConfig, 'name' | 'state_dir'>,
  given: readonly GivenSetting[],
  isNew: boolean,
): GivenSetting[] => {
  const own = { name, state_dir }
  const first = isNew ? Object.keys(own).map(key => ({ path: [key], value: undefined })) : []
  return [...first, ...given].map(({ path, value }) => {
    const [key = ''] = path
    return { path, value: key in own ? own[key as keyof typeof own] : value }
  })
}

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | null | undefined)?.[name],
    value,
  )

/** The state folder is created for the daemon alone; a mistyped folder of settings is not created. */
const requireFolder = (folder: string, stateDir: string): void => {
  if (existsSync(folder) || folder === resolve(stateDir)) return
  const message = `the folder ${folder} of the configuration file does not exist: create it with mkdir -p, or name another file with --config`
  throw new ShoalError('config_invalid', message)
}

const requireWritable = (path: string): void => {
  try {
    accessSync(findFolder(path), constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const message = `cannot write ${path} (${code}): run the command as its owner, or name another file with --config`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}

/** The folder of a file, or the nearest one that exists. */
const findFolder = (path: string): string => {
  const folder = dirname(path)
  return existsSync(folder) ? folder : findFolder(folder)
}
