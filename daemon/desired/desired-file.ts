import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { MAX_ERRORS, ReceivedSettings } from '../../shared/wire/desired.ts'
import type { RegisteredModels } from '../../shared/wire/registered-models.ts'
import type { SharedEnvelopes } from '../../shared/wire/safety-envelope.ts'
import type { DaemonConfig } from '../config.ts'
import { checkDocument, overlay, settingsOf, withSettings } from './settings.ts'
import type { TrialFailure, TrialState, WantedSettings } from './trial.ts'

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

const fileOf = (stateDir: string): string => join(stateDir, 'desired.json')

/**
 * Settings in force when the daemon ended. Settings that were on trial then have failed, as they
 * may be the reason. A member that this build cannot read is left out and counts as refused. An
 * unusable file counts as missing: the coordinator sends everything again.
 */
export const readDesired = async (
  stateDir: string,
): Promise<{ good: WantedSettings; failure?: TrialFailure; highest: number }> => {
  const text = await readPrivate(fileOf(stateDir)).catch(() => undefined)
  const { good: stored, trying, failure: before, highest: kept = 0 } = understand(text)
  const versions = [stored, trying, before?.wanted].map(wanted => wanted?.version ?? 0)
  const highest = Math.max(kept, ...versions)
  const { readable, faults } = checkDocument(stored.document)
  const good = { ...stored, document: readable }
  const refused: TrialFailure = { wanted: stored, state: 'refused', errors: faults }
  const failure = faults.length > 0 ? refused : before
  if (trying === undefined || isDeepStrictEqual(trying, stored))
    return { good, highest, ...(failure && { failure }) }
  const ended = { key: '', message: 'the daemon ended during the probation' }
  const errors = [ended, ...faults].slice(0, MAX_ERRORS)
  // the request as it was sent, when only a part of it was on trial
  const wanted = before?.wanted.version === trying.version ? before.wanted : trying
  return { good, highest, failure: { wanted, state: 'rolled_back', errors } }
}

const understand = (text: string | undefined): Kept => {
  try {
    return Kept.parse(JSON.parse(text ?? JSON.stringify(NOTHING)))
  } catch {
    return NOTHING
  }
}

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
    good: good.wanted,
    highest,
    ...(trial && { trying: trial.basis.wanted }),
    ...(failure && { failure }),
  }
  await replacePrivate(fileOf(stateDir), `${JSON.stringify(kept, null, 2)}\n`).catch(error =>
    logger.warn({ reason: error.message }, 'settings of the coordinator could not be stored'),
  )
}

/**
 * Configuration with which the daemon starts: its own file, overlaid with the last proven settings.
 */
export const startingConfig = async (config: DaemonConfig): Promise<DaemonConfig> => {
  const { good } = await readDesired(config.state_dir)
  return withSettings(config, overlay(settingsOf(config), good.document))
}

/** Limits of devices with which the daemon starts: the last proven ones of the coordinator. */
export const readSharedEnvelopes = async (stateDir: string): Promise<SharedEnvelopes> => {
  const { good } = await readDesired(stateDir)
  return ReceivedSettings.parse(good.document).envelopes ?? {}
}

/** Models that operators had added at the coordinator, with which the daemon starts. */
export const readRegisteredModels = async (
  stateDir: string,
): Promise<RegisteredModels | undefined> => {
  const { good } = await readDesired(stateDir)
  return ReceivedSettings.parse(good.document).models
}
