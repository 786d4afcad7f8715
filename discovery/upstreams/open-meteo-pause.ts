import type { SourceReply } from './source.ts'

const DAY_SECONDS = 86_400

/**
 * Time until the quota that a refusal of Open-Meteo names begins again: `Hourly API request limit
 * exceeded. …`
 */
export const readOpenMeteoPause = (
  { status, text }: Pick<SourceReply, 'status' | 'text'>,
  now: number,
): number | undefined => {
  if (status !== 429) return undefined
  const seconds = Math.floor(now / 1000)
  if (/\bdaily\b/i.test(text)) return DAY_SECONDS - (seconds % DAY_SECONDS)
  if (/\bhourly\b/i.test(text)) return 3600 - (seconds % 3600)
  return 60
}
