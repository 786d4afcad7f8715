import { ShoalError } from '../errors.ts'

/**
 * Additions of each capability level to the protocol. A level is a number per daemon build,
 * announced in the birth; each includes all below it. `docs/protocol.md` has the same history.
 */
export const CAPABILITIES = [
  { level: 1, since: '2026-11-20', adds: 'envelope, birth, telemetry, configuration, commands' },
  { level: 2, since: '2026-11-22', adds: '`device_id`: one lane per device, and urgent verbs' },
  { level: 3, since: '2026-11-22', adds: 'plans in dry runs, and `approval` verified by the cell' },
  { level: 4, since: '2026-11-22', adds: 'progress acks, and results up to `max_result_bytes`' },
  { level: 5, since: '2026-11-22', adds: 'several coordinators' },
  { level: 6, since: '2026-11-22', adds: 'devices, e-stop, and formations over several cells' },
  { level: 7, since: '2026-11-22', adds: 'modules, their scope, and findings' },
  {
    level: 8,
    since: '2026-11-23',
    adds: 'models that an operator added at the coordinator, and `stopped` as the last word',
  },
] as const

/** Level of this build. */
export const CAPABILITY: number = CAPABILITIES.length

/** Level of a daemon whose birth names none. */
export const FIRST_CAPABILITY = 1

/** Lowest level that supports each feature. */
export const NEEDS = {
  plan: 3,
  approval: 3,
  largeResult: 4,
  replicas: 5,
  devices: 6,
  discovery: 7,
  models: 8,
  stopped: 8,
} as const

/** Lowest level that knows each later key; a cell refuses a whole body for one unknown key. */
type KeyLevels = Readonly<Record<string, number>>

/** Optional keys of a command. */
export const COMMAND_KEYS: KeyLevels = { max_result_bytes: NEEDS.largeResult }

/** Top-level keys of a configuration document. */
export const SETTING_KEYS: KeyLevels = {
  envelopes: NEEDS.devices,
  discovery: NEEDS.discovery,
  models: NEEDS.models,
}

/** Copies the value without the keys that a cell of this level does not know. */
export const withholdKeys = <T extends object>(value: T, levels: KeyLevels, level: number): T =>
  Object.fromEntries(
    Object.entries(value).filter(([key]) => level >= (levels[key] ?? FIRST_CAPABILITY)),
  ) as T

/** Throws `conflict` for a cell below the level that `what` needs, and names that level. */
export const requireLevel = (cellId: string, level: number, needed: number, what: string): void => {
  if (level >= needed) return
  throw new ShoalError(
    'conflict',
    `${cellId} has capability level ${level}, and ${what} needs level ${needed}; update its daemon`,
  )
}
