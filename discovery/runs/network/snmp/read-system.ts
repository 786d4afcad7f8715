import type { SnmpSession } from './session.ts'
import { readNumber, readText, readUnsigned } from './values.ts'

/** Group `system` (RFC 3418). */
const SYSTEM = '1.3.6.1.2.1.1'
const OBJECTS = [1, 2, 3, 4, 5, 6, 7].map(number => `${SYSTEM}.${number}.0`)

/** Bits of sysServices: layer n is the bit n - 1. */
const LAYER_2 = 2
const LAYER_3 = 4

/** The group `system`; undefined when the agent does not answer these credentials. */
export const readSystem = async (session: SnmpSession) => {
  const found = await session.get(OBJECTS)
  if (found === undefined) return undefined
  const values = new Map(found.map(({ oid, value }) => [oid, value]))
  const value = (number: number) => values.get(`${SYSTEM}.${number}.0`)
  const ticks = readUnsigned(value(3))
  const services = readNumber(value(7))
  return {
    description: readText(value(1), 256),
    object_id: readText(value(2), 128),
    uptime_s: ticks === null ? null : ticks / 100,
    contact: readText(value(4), 256),
    name: readText(value(5), 256),
    location: readText(value(6), 256),
    is_bridge: services === null ? null : (services & LAYER_2) !== 0,
    is_router: services === null ? null : (services & LAYER_3) !== 0,
  }
}

export type SystemGroup = NonNullable<Awaited<ReturnType<typeof readSystem>>>
