import { ShoalError } from '../errors.ts'

/**
 * Additions of each capability level to the protocol. A level is a number per build; each includes
 * all below it. A cell announces its own in the birth, a coordinator in `HEADER_CAPABILITY`.
 * `docs/protocol.md` has the same history.
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
  {
    level: 9,
    since: '2026-11-24',
    adds: 'limits in volts, formations of vehicles on the globe, and the level of the coordinator',
  },
] as const

/** Level of this build. */
export const CAPABILITY: number = CAPABILITIES.length

/** Level of a daemon whose birth names none. */
export const FIRST_CAPABILITY = 1

/** Level of a coordinator that names none: the last one before coordinators named theirs. */
const SILENT_COORDINATOR = 8

/** Level of the coordinator that sent this value of `HEADER_CAPABILITY`. */
export const readCapability = (header: string | readonly string[] | undefined): number =>
  typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : SILENT_COORDINATOR

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
  volts: 9,
  globe: 9,
} as const

/**
 * Lowest level that knows each later key, by path; `*` stands for every key of an object and every
 * entry of a list. A peer refuses a whole body for one unknown key of a strict object.
 */
type KeyLevels = Readonly<Record<string, number>>

/** Optional keys of a command. */
export const COMMAND_KEYS: KeyLevels = { max_result_bytes: NEEDS.largeResult }

/** Limits of devices, see `SafetyEnvelope`. */
const ENVELOPE_KEYS: KeyLevels = {
  min_battery_to_start_volts: NEEDS.volts,
  min_battery_to_continue_volts: NEEDS.volts,
}

const within = (path: string, levels: KeyLevels): KeyLevels =>
  Object.fromEntries(Object.entries(levels).map(([key, level]) => [`${path}.${key}`, level]))

/** Keys of a configuration document. */
export const SETTING_KEYS: KeyLevels = {
  envelopes: NEEDS.devices,
  ...within('envelopes.fleet', ENVELOPE_KEYS),
  ...within('envelopes.sites.*', ENVELOPE_KEYS),
  discovery: NEEDS.discovery,
  models: NEEDS.models,
}

/** Keys of a birth, which a coordinator of a lower level would refuse whole. */
export const BIRTH_KEYS: KeyLevels = within('devices.*.envelope', ENVELOPE_KEYS)

/** True for a limit that a peer of this level knows. */
export const isKnownLimit = (limit: string, level: number): boolean =>
  level >= (ENVELOPE_KEYS[limit] ?? FIRST_CAPABILITY)

/** Copies the value without the keys that a peer of this level does not know. */
export const withholdKeys = <T extends object>(value: T, levels: KeyLevels, level: number): T =>
  Object.entries(levels)
    .filter(([, needed]) => level < needed)
    .reduce((rest, [path]) => omit(rest, path.split('.')) as T, value)

const omit = (value: unknown, [key, ...below]: readonly string[]): unknown => {
  if (typeof value !== 'object' || value === null || key === undefined) return value
  if (Array.isArray(value)) return key === '*' ? value.map(item => omit(item, below)) : value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      if (key !== '*' && key !== name) return [[name, inner]]
      return below.length === 0 ? [] : [[name, omit(inner, below)]]
    }),
  )
}

/** Paths of the keys of the value that a peer of this level does not get, with the level of each. */
export const listWithheld = (
  value: object,
  levels: KeyLevels,
  level: number,
): { key: string; level: number }[] =>
  Object.entries(levels)
    .filter(([, needed]) => level < needed)
    .flatMap(([path, needed]) =>
      listPaths(value, path.split('.')).map(key => ({ key, level: needed })),
    )

const listPaths = (value: unknown, [key, ...below]: readonly string[], at = ''): string[] => {
  if (key === undefined) return [at.slice(1)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => key === '*' || key === name)
    .flatMap(([name, inner]) => listPaths(inner, below, `${at}.${name}`))
}

/** Throws `conflict` for a cell below the level that `what` needs, and names that level. */
export const requireLevel = (cellId: string, level: number, needed: number, what: string): void => {
  if (level >= needed) return
  throw new ShoalError(
    'conflict',
    `${cellId} has capability level ${level}, and ${what} needs level ${needed}; update its daemon`,
  )
}
