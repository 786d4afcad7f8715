import type { Deprecation } from '../../kernel/declaration/declaration.ts'

/**
 * Headers on every response of a deprecated operation: `Deprecation` (RFC 9745), `Sunset` (RFC
 * 8594) and its successor.
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
