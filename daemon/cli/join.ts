import { constants, existsSync } from 'node:fs'
import { lchown, open, readFile, stat } from 'node:fs/promises'
import { delimiter, join, relative, resolve } from 'node:path'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { openSigner } from '../../shared/signing.ts'
import { lockState } from '../../shared/state-lock.ts'
import type { DaemonConfig } from '../config.ts'
import { addressFault } from '../coordinator-url.ts'
import { enrolOnce } from '../enrol.ts'
import {
  type Identity,
  identityFile,
  readIdentity,
  signingKeyFile,
  writeIdentity,
} from '../identity.ts'
import type { DaemonCommand } from './command.ts'
import { discoverCoordinator } from './discover-coordinator.ts'
import { takeFlags } from './flags.ts'
import { footprint } from './footprint.ts'
import { type JoinedSettings, planSettings } from './joined-settings.ts'
import { readSettings } from './settings.ts'

export const JOIN_HELP = {
  usage: 'shoald join URL|--discover --token TOKEN',
  summary: 'Makes this machine a cell of a fleet, and writes what the daemon needs to start.',
  flags: [
    'URL                 address of the coordinator, https unless it is on this machine',
    '--discover          look for the coordinator on the local network instead (multicast DNS)',
    '--yes               with --discover: join the coordinator that made the token without asking',
    '--token TOKEN       the one-time token from an operator; every user of a machine can',
    '                    read the arguments of its programs',
    '--token-file FILE   a file that holds it instead',
  ],
}

/** The coordinator does not take this token, or is not the one that made it. */
const REFUSED: readonly ErrorCode[] = ['auth_required', 'forbidden']

/** Enrols this machine and writes the files that the daemon needs; it does not start the daemon. */
export const joinCommand: DaemonCommand = async context => {
  const { values, words, switches, rest } = takeFlags(
    context.argv,
    ['token', 'token-file'],
    ['discover', 'yes'],
  )
  if (words.length !== (switches.discover ? 0 : 1))
    throw createUsageError('give one address, or --discover')
  const token = values.token ?? (await tokenIn(values['token-file']))
  const url = words[0] ?? (await discoverCoordinator(context, token, switches.yes))
  const fault = addressFault(url)
  if (fault !== undefined) throw createUsageError(`${url}: ${fault}`)
  const { config, given, file } = readSettings(context, rest, { mayMiss: true })
  const path = resolve(file ?? join(config.state_dir, 'shoald.yaml'))
  const settings = planSettings(path, config, [
    ...given,
    { path: ['coordinator', 'url'], value: url },
  ])

  const left = footprint(config.state_dir)
  const held = new AbortController()
  await lockState(config.state_dir, AbortSignal.any([context.signal, held.signal]))
  left.markLocked()
  const known = await readIdentity(config.state_dir)
  if (known !== undefined)
    throw new ShoalError(
      'conflict',
      `this machine is ${known.cell_id} of ${known.coordinator_url} already; remove it first with shoald leave`,
    )
  const identity = await enrolOnce({
    ...context,
    url,
    token,
    name: config.name,
    signer: await openSigner(signingKeyFile(config.state_dir)),
    timeoutSeconds: config.coordinator.connect_timeout_seconds,
  }).catch(async error => {
    // where the answer was lost, the coordinator may know this machine by its key already
    if (error instanceof ShoalError && REFUSED.includes(error.code))
      await left.takeBack(() => held.abort())
    held.abort()
    throw error
  })
  await writeIdentity(config.state_dir, identity)
  await giveToOwner(config.state_dir, (await settings.write()) ? settings : undefined)
  context.write(describeJoin(identity, config, settings))
  return 0
}

const createUsageError = (what: string): ShoalError =>
  new ShoalError('wrong_usage', `${what}; ${JOIN_HELP.usage} (or --token-file FILE)`)

const tokenIn = async (path: string | undefined): Promise<string> => {
  if (path === undefined) throw createUsageError('no token')
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new ShoalError('not_found', `--token-file: ${cause.message}`, { cause })
  })
  return text.trim()
}

/**
 * Gives new files to the owner of the state folder, as root may join for a daemon of another user.
 * That user can write into the folder: a link there is not followed.
 */
const giveToOwner = async (
  stateDir: string,
  created: JoinedSettings | undefined,
): Promise<void> => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(stateDir)
  const files = [identityFile(stateDir), signingKeyFile(stateDir)]
  const isInside = created !== undefined && !relative(stateDir, created.path).startsWith('..')
  if (isInside) files.push(created.path)
  for (const path of files) await lchown(path, uid, gid)
  if (created !== undefined && !isInside) await letDaemonRead(created, gid)
}

/** Settings elsewhere stay root's; only the daemon's group reads those with credentials. */
const letDaemonRead = async ({ path, hasHidden }: JoinedSettings, gid: number): Promise<void> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    if (hasHidden) await file.chown(0, gid)
    await file.chmod(hasHidden ? 0o640 : 0o644)
  } finally {
    await file.close()
  }
}

const describeJoin = (
  identity: Identity,
  { state_dir }: DaemonConfig,
  { path, isNew, changed }: JoinedSettings,
): string =>
  [
    `This machine is ${identity.cell_id} of ${identity.coordinator_url} now.`,
    `Identity: ${identityFile(state_dir)}. It is the secret of this cell: keep it, and do not copy it.`,
    `Settings: ${path}${describeChange(isNew, changed)}`,
    ...(identity.coordinator_ca === undefined
      ? []
      : ["The coordinator's certificate authority is pinned: no other server can impersonate it."]),
    `Next: ${path === UNIT_SETTINGS && existsSync(SYSTEMD) ? 'systemctl restart shoald' : ownCommand(path)}`,
    `If it does not show up: ${ownCommand(path, 'doctor')}`,
    '',
  ].join('\n')

const describeChange = (isNew: boolean, changed: readonly string[]): string => {
  if (isNew) return ''
  return changed.length === 0 ? ' (unchanged)' : ` (changed: ${changed.join(', ')})`
}

/** Settings file that the unit of the package reads. */
const UNIT_SETTINGS = '/etc/shoal/shoald.yaml'
/** sd_booted(3) */
const SYSTEMD = '/run/systemd/system'

/** A line for the shell; a program that is not on the path is named in full. */
const ownCommand = (file: string, ...words: string[]): string => {
  const program = resolve(import.meta.dirname, '..', '..', 'bin', 'shoald')
  const folders = (process.env.PATH ?? '').split(delimiter)
  const isOnPath = folders.some(folder => folder !== '' && existsSync(join(folder, 'shoald')))
  return [isOnPath ? 'shoald' : program, ...words, '--config', file].map(quoteWord).join(' ')
}

/** POSIX.1-2017, Shell Command Language, 2.2.2. */
const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
