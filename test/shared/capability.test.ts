import { readFileSync } from 'node:fs'
import t from 'tap'
import type * as z from 'zod'
import { Announce, EnrolRequest } from '../../shared/wire/announce.ts'
import {
  BIRTH_KEYS,
  CAPABILITIES,
  COMMAND_KEYS,
  isKnownLimit,
  NEEDS,
  readCapability,
  SETTING_KEYS,
} from '../../shared/wire/capability.ts'
import { Ack, Command } from '../../shared/wire/command.ts'
import { ReceivedSettings, ReportedBody } from '../../shared/wire/desired.ts'
import { DevicesBody } from '../../shared/wire/device.ts'
import { DeviceEnvelopeAnswer } from '../../shared/wire/device-envelope.ts'
import { StateBody } from '../../shared/wire/envelope.ts'
import { EstopBody, EstoppedBody } from '../../shared/wire/estop.ts'
import { FindingsBody, ModuleQuestion } from '../../shared/wire/findings.ts'
import { FormationParams } from '../../shared/wire/formation.ts'
import { MavlinkStatusInput } from '../../shared/wire/mavlink-status.ts'
import { MqttPublishParams } from '../../shared/wire/mqtt-bridge.ts'
import { DryRun } from '../../shared/wire/plan-part.ts'
import { PrinterStatusInput } from '../../shared/wire/printer-status.ts'
import { ReplicasBody } from '../../shared/wire/replicas.ts'
import { Sample } from '../../shared/wire/telemetry.ts'
import { TrustBody } from '../../shared/wire/trust.ts'

const SILENT_COORDINATOR = 8

/** Messages between cells and coordinators. */
const MESSAGES = {
  Announce,
  Ack,
  EstoppedBody,
  DevicesBody,
  Sample,
  ReportedBody,
  FindingsBody,
  DryRun,
  DeviceEnvelopeAnswer,
  Command,
  ReceivedSettings,
  FormationParams,
  EstopBody,
  ReplicasBody,
  TrustBody,
  MqttPublishParams,
  MavlinkStatusInput,
  PrinterStatusInput,
  EnrolRequest,
  StateBody,
  ModuleQuestion,
}

/** Definition of a zod schema, as far as its parts are found by it. */
interface Definition {
  type: string
  shape?: Record<string, z.core.$ZodType>
  catchall?: z.core.$ZodType
  entries?: Record<string, string>
  values?: unknown[]
  options?: z.core.$ZodType[]
  items?: z.core.$ZodType[]
  [part: string]: unknown
}

const PARTS = ['innerType', 'element', 'valueType', 'in', 'out', 'left', 'right']

const definitionOf = (schema: z.core.$ZodType) => schema._zod.def as unknown as Definition

/**
 * Paths that an older peer refuses as unknown: keys of strict objects, and values of enums, as
 * `devices[].envelope.max_speed_m_s` and `mode=dry`.
 */
function* listRefusable(
  schema: z.core.$ZodType,
  path: string,
  seen: ReadonlySet<unknown> = new Set(),
): Generator<string> {
  if (seen.has(schema)) return
  const inside = new Set(seen).add(schema)
  const {
    type,
    shape = {},
    catchall,
    entries,
    values,
    options,
    items,
    ...parts
  } = definitionOf(schema)
  const isStrict = catchall !== undefined && definitionOf(catchall).type === 'never'
  for (const [key, inner] of Object.entries(shape)) {
    if (isStrict) yield `${path}.${key}`
    yield* listRefusable(inner, `${path}.${key}`, inside)
  }
  for (const value of values ?? Object.values(entries ?? {})) yield `${path}=${value}`
  for (const option of options ?? []) yield* listRefusable(option, path, inside)
  for (const item of items ?? []) yield* listRefusable(item, `${path}[]`, inside)
  for (const name of PARTS) {
    const part = parts[name]
    const isList = name === 'element' || name === 'valueType'
    if (part instanceof Object && '_zod' in part)
      yield* listRefusable(part as z.core.$ZodType, isList ? `${path}[]` : path, inside)
  }
}

/** Object or enum that has the key or value; an older peer judges only those that it reads. */
const parentOf = (path: string): string => path.replace(/[.=][^.=]+$/, '')

/** True when the table has the path, or a key above it, with a level above `level`. */
const isLevelled = (table: Readonly<Record<string, number>>, path: string, level: number) =>
  Object.entries(table).some(
    ([key, needed]) => needed > level && (path === key || path.startsWith(`${key}.`)),
  )

const TABLES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Announce: BIRTH_KEYS,
  Command: COMMAND_KEYS,
  // a cell that does not know one takes no part in the formation
  FormationParams: { origin: NEEDS.globe },
  ReceivedSettings: SETTING_KEYS,
}

t.test('a key that a peer of level 8 would refuse has the level that knows it', async t => {
  const fixture = new URL('../fixtures/wire/level-8.txt', import.meta.url)
  const known = readFileSync(fixture, 'utf8').split('\n')
  const read = new Set(known.map(parentOf))
  const added = Object.entries(MESSAGES).flatMap(([message, schema]) =>
    [...new Set(listRefusable(schema, message))].filter(
      path => read.has(parentOf(path)) && !known.includes(path),
    ),
  )
  t.ok(added.length > 0)
  for (const one of added) {
    const [message = '', ...rest] = one.replaceAll('[]', '.*').split('.')
    const path = rest.join('.')
    const [, limit] = path.match(/^bounds\.\*\.limit=(.+)$/) ?? []
    t.ok(
      limit === undefined ? isLevelled(TABLES[message] ?? {}, path, 8) : !isKnownLimit(limit, 8),
      `${one} needs a level in shared/wire/capability.ts`,
    )
  }
})

t.test(
  'a coordinator that states no level, or none that can be read, has the last silent one',
  t => {
    t.equal(readCapability('9'), 9)
    t.equal(readCapability('12'), 12)
    for (const header of [undefined, '', 'nine', '-9', '9, 9', ['9'], '9'.repeat(30)])
      t.equal(readCapability(header), SILENT_COORDINATOR)
    t.strictSame(
      CAPABILITIES.map(({ level }) => level),
      CAPABILITIES.map((_, at) => at + 1),
    )
    t.end()
  },
)
