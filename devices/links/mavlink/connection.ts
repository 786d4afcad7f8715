import { isIP } from 'node:net'
import * as z from 'zod'

/** Grammar of a connection: `udp:HOST:PORT`, with an IPv6 address in brackets. */
const CONNECTION =
  /^udp:(?<host>\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9][A-Za-z0-9.-]{0,252}):(?<port>\d{1,5})$/

/** Local address on which a vehicle's frames arrive. */
export interface MavlinkAddress {
  host: string
  port: number
}

/** Parses a connection; undefined when it does not follow the grammar. */
export const parseConnection = (connection: string): MavlinkAddress | undefined => {
  const { host = '', port = '' } = CONNECTION.exec(connection)?.groups ?? {}
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  if (bare === '' || (host.startsWith('[') && isIP(bare) !== 6)) return undefined
  const number = Number(port)
  return number >= 1 && number <= 65_535 ? { host: bare, port: number } : undefined
}

export const MavlinkConnection = z
  .string()
  .max(300)
  .refine(connection => parseConnection(connection) !== undefined, {
    error: 'must be udp:HOST:PORT, such as udp:127.0.0.1:14550',
  })
