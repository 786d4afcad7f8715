import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { MAX_ERRORS, ReceivedSettings } from '../../shared/wire/desired.ts'
import type { RegisteredModels } from '../../shared/wire/registered-models.ts'
import type { ReceivedEnvelopes } from '../../shared/wire/safety-envelope.ts'
import type { DaemonConfig } from '../config.ts'
import { checkDocument, overlay, settingsOf, withSettings } from './settings.ts'
import {
  hasUnreadLimits,
  keepUnread,
  type TrialFailure,
  type TrialState,
  type WantedSettings,
} from './trial.ts'

const WantedText = z.object({ version: z.int(), document: z.record(z.string(), z.unknown()) })

/**
 * Contents of `desired.json`: settings in force, on trial, or rejected. A part that cannot be read
 * counts as missing, and takes no other part with it.
 */
const Kept = z.object({
  good: WantedText,
  /** Highest version that was ever trusted. */
  highest: z.int().nonnegative().optional().catch(undefined),
  trying: WantedText.optional().catch(undefined),
  failure: z
    .object({
      wanted: WantedText,
      state: z.enum(['refused', 'rolled_back']),
      errors: z.array(z.object({ key: z.string(), message: z.string() })),
    })
    .optional()
    .catch(undefined),
})
type Kept = z.infer<typeof Kept>

const NOTHING: Kept = { good: { version: 0, document: {} } }

/** Contents of a file that cannot be read: it may have held limits of devices. */
const UNREADABLE: Kept = { good: { version: 0, document: { envelopes: null } } }

const fileOf = (stateDir: string): string => join(stateDir, 'desired.json')

/**
 * Settings in force when the daemon ended. Settings that were on trial then have failed, as they
 * may be the reason. A member that this build cannot read is kept apart and counts as refused. Of an
 * unusable file only that limits may have been in it counts: the coordinator sends everything again.
 */
export const readDesired = async (
  stateDir: string,
): Promise<{ good: WantedSettings; failure?: TrialFailure; highest: number }> => {
  const read = await readPrivate(fileOf(stateDir)).then(understand, () => UNREADABLE)
  const { good: stored, trying, failure: last, highest: kept = 0 } = read
  const versions = [stored, trying, last?.wanted].map(wanted => wanted?.version ?? 0)
  const highest = Math.max(kept, ...versions)
  const { readable, faults } = checkDocument(stored.document)
  const unread = Object.entries(stored.document).filter(([name]) => !Object.hasOwn(readable, name))
  const good = { ...stored, document: readable, ...keepUnread(Object.fromEntries(unread)) }
  const refused: TrialFailure = { wanted: stored, state: 'refused', errors: faults }
  const before = last && isReadableNow(last) ? undefined : last
  const failure = faults.length > 0 ? refused : before
  if (trying === undefined || isDeepStrictEqual(trying, stored))
    return { good, highest, ...(failure && { failure }) }
  const ended = { key: '', message: 'the daemon ended during the probation' }
  const errors = [ended, ...faults].slice(0, MAX_ERRORS)
  // the request as it was sent, when only a part of it was on trial
  const wanted = before?.wanted.version === trying.version ? before.wanted : trying
  return { good, highest, failure: { wanted, state: 'rolled_back', errors } }
}

/** True for a request that an earlier build refused and this one can read: it is taken when sent. */
const isReadableNow = ({ state, wanted }: TrialFailure): boolean =>
  state === 'refused' && checkDocument(wanted.document).faults.length === 0

const understand = (text: string | undefined): Kept => {
  if (text === undefined) return NOTHING
  try {
    return Kept.parse(JSON.parse(text))
  } catch {
    return UNREADABLE
  }
}

/** Settings with the members that could not be read: a later build may be able to. */
const toStored = ({ version, document, unread }: WantedSettings): Kept['good'] => ({
  version,
  document: { ...document, ...unread },
})

/**
 * Resolves when the settings are on disk. A disk error loses them at the next start but does not
 * stop the cell.
 */
export const writeDesired = async (
  stateDir: string,
  { good, trial, failure }: TrialState,
  logger: Logger,
  highest = 0,
): Promise<void> => {
  const kept: Kept = {
    good: toStored(good.wanted),
    highest,
    ...(trial && { trying: toStored(trial.basis.wanted) }),
    ...(failure && { failure }),
  }
  await replacePrivate(fileOf(stateDir), `${JSON.stringify(kept, null, 2)}\n`).catch(error =>
    logger.warn({ reason: error.message }, 'settings of the coordinator could not be stored'),
  )
}

/**
 * Configuration with which the daemon starts: its own file, overlaid with the last proven settings.
 */
export const readStartingConfig = async (config: DaemonConfig): Promise<DaemonConfig> => {
  const { good } = await readDesired(config.state_dir)
  return withSettings(config, overlay(settingsOf(config), good.document))
}

/** Limits of devices with which the daemon starts: the last proven ones of the coordinator. */
export const readSharedEnvelopes = async (stateDir: string): Promise<ReceivedEnvelopes> => {
  const { good } = await readDesired(stateDir)
  if (hasUnreadLimits(good)) return 'unreadable'
  return ReceivedSettings.parse(good.document).envelopes ?? {}
}

/** Models that operators had added at the coordinator, with which the daemon starts. */
export const readRegisteredModels = async (
  stateDir: string,
): Promise<RegisteredModels | undefined> => {
  const { good } = await readDesired(stateDir)
  return ReceivedSettings.parse(good.document).models
}
