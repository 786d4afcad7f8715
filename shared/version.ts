import { readFileSync } from 'node:fs'

/** Product version, `major.minor.patch`, read from package.json, its single source. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version

/**
 * Version of the MQTT envelope and topics, and of the link. Peers with another major are refused.
 */
export const PROTOCOL_VERSION = 1
