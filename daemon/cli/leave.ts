import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { randomId } from '../../shared/ids.ts'
import { lockState } from '../../shared/state-lock.ts'
import { LeaveAnswer } from '../../shared/wire/cell-self.ts'
import { LEAVE_PATH } from '../../shared/wire/link.ts'
import { askAsCell } from '../ask.ts'
import type { DaemonConfig } from '../config.ts'
import {
  credentialOf,
  type Identity,
  identityFile,
  readIdentity,
  signingKeyFile,
} from '../identity.ts'
import type { CommandContext, DaemonCommand } from './command.ts'
import { requireNoWords, takeFlags } from './flags.ts'
import { readSettings } from './settings.ts'

export const LEAVE_HELP = {
  usage: 'shoald leave --yes [--force]',
  summary: 'Removes this cell from its fleet and deletes the identity. Stop the daemon first.',
  flags: [
    '--yes     needed: it is for good, and what was not sent yet is removed',
    '--force   also when the coordinator cannot be reached',
  ],
}

/** Ends this machine's life as a cell. The daemon must be stopped before. */
export const leaveCommand: DaemonCommand = async context => {
  const { switches, words, rest } = takeFlags(context.argv, [], ['yes', 'force'])
  requireNoWords({ words }, LEAVE_HELP.usage)
  const { config } = readSettings(context, rest)
  const identity = await readIdentity(config.state_dir)
  if (identity === undefined)
    throw new ShoalError(
      'not_found',
      `${config.state_dir} holds no identity: this machine is not a cell`,
    )
  const { cell_id, coordinator_url } = identity
  if (!switches.yes)
    throw new ShoalError(
      'invalid_request',
      `this permanently removes ${cell_id} from ${coordinator_url} and deletes unsent data; add --yes`,
    )
  await lockState(config.state_dir, context.signal)
  const said = await tell(identity, config, context, switches.force)
  await forget(config.state_dir)
  context.write(`This machine is no longer a cell of ${coordinator_url}. ${said}\n`)
  return 0
}

/** Errors which mean that the coordinator has already removed the cell. */
const ended: ErrorCode[] = ['auth_required']

const tell = async (
  identity: Identity,
  { coordinator }: DaemonConfig,
  { signal }: CommandContext,
  force: boolean,
): Promise<string> => {
  const url = coordinator.url ?? identity.coordinator_url
  const asker = { url, timeoutSeconds: coordinator.connect_timeout_seconds, signal }
  try {
    const asked = { ...identity, credential: credentialOf(identity), boot_id: randomId() }
    await askAsCell(asked, asker, { method: 'POST', path: LEAVE_PATH, answer: LeaveAnswer })
    return 'The coordinator was notified.'
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    if (ended.includes(error.code)) return 'The coordinator had already removed it.'
    if (force) return `The coordinator could not be notified: revoke ${identity.cell_id} there.`
    throw new ShoalError(error.code, `${error.message}; --force leaves without notifying it`, {
      cause: error,
    })
  }
}

/** Files of one membership, besides the identity. */
const LEFT_BEHIND = ['spool', 'commands.journal', 'desired.json', 'devices.json', 'links']

/** Deletes the identity last, so that an interrupted leave can be repeated. */
const forget = async (stateDir: string): Promise<void> => {
  for (const name of LEFT_BEHIND) await rm(join(stateDir, name), { recursive: true, force: true })
  await rm(signingKeyFile(stateDir), { force: true })
  await rm(identityFile(stateDir), { force: true })
}
