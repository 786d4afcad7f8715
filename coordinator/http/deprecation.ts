import type { Deprecation } from '../operations/declaration.ts'

/**
 * What every answer of an operation says that will go away: `Deprecation` (RFC 9745), `Sunset`
 * (RFC 8594) and what takes its place.
 */
export const deprecationHeaders = ({
  since,
  sunset,
  use,
}: Deprecation): Record<string, string> => ({
  deprecation: `@${Date.parse(since) / 1000}`,
  sunset: new Date(sunset).toUTCString(),
  link: `<${use}>; rel="successor-version"`,
})
