import type { LookupSettings } from '../lookup-run.ts'
import { type UpstreamAnswer, UpstreamError, type UpstreamRequest } from './client.ts'
import { findMissing } from './find-missing.ts'
import { isOpenMeteoAllowed } from './open-meteo-terms.ts'
import type { Source } from './source.ts'

/** Verdict on whether a source still answers as its parser expects. */
interface SourceVerdict {
  outcome: 'complete' | 'incomplete' | 'failed' | 'skipped'
  /** Fields that its answer lacks. */
  missing: readonly string[]
  message: string | null
}

interface VerifyParts {
  ask(request: UpstreamRequest): Promise<UpstreamAnswer>
  settings: LookupSettings
}

/** Makes the smallest valid request to a source, unless its terms or a missing key forbid it. */
export const verifySource = async (
  source: Source,
  { ask, settings }: VerifyParts,
): Promise<SourceVerdict> => {
  const { verify: check } = source
  const reason = findReasonToSkip(source, settings)
  if (check === undefined || reason !== undefined)
    return { outcome: 'skipped', missing: [], message: reason ?? 'no check is known' }
  const { fields, ...request } = check
  try {
    const { body } = await ask({ source, ...request })
    const missing = findMissing(body, fields)
    return { outcome: missing.length === 0 ? 'complete' : 'incomplete', missing, message: null }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (error.failure === 'offline')
      return { outcome: 'skipped', missing: [], message: 'upstreams.egress is off' }
    return { outcome: 'failed', missing: [], message: error.message }
  }
}

const findReasonToSkip = (
  { id, url, key }: Source,
  settings: LookupSettings,
): string | undefined => {
  if (url === null && !settings.hasOwnUrl(id)) return 'no address is configured'
  if (key?.isRequired && !settings.hasKey(key.sharedWith ?? id)) return 'no key is configured'
  if ((id === 'open-meteo' || id === 'open-meteo-aq') && !isOpenMeteoAllowed(settings, id))
    return 'its terms need a key, an own server, or use that is not commercial'
  return undefined
}
