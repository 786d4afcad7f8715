import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { jsonSchema } from '../../coordinator/operations/json-schema.ts'
import { toProfileFacts } from '../../daemon/devices/device-facts.ts'
import type { DeviceVerb } from '../../devices/profile.ts'
import { PROFILES } from '../../devices/profiles/index.ts'
import { DeviceProfileFacts } from '../../shared/wire/device.ts'
import { CRITICAL_GATE, LIVE_GATE } from '../../shared/wire/plan-part.ts'

const PROFILES_FOLDER = join(import.meta.dirname, '..', '..', 'devices', 'profiles')

interface NamedVerb {
  /** `profile verb`. */
  name: string
  verb: DeviceVerb
  properties: readonly string[]
}

const VERBS: readonly NamedVerb[] = PROFILES.flatMap(({ id, verbs, properties }) =>
  Object.entries(verbs).map(([name, verb]) => ({
    name: `${id} ${name}`,
    verb,
    properties: Object.keys(properties),
  })),
)

/** Names of the verbs that do not hold. */
const listOffenders = (holds: (named: NamedVerb) => boolean): string[] =>
  VERBS.filter(named => !holds(named)).map(({ name }) => name)

t.test('each profile is listed once, in order, in a file with its id', async t => {
  const ids = PROFILES.map(({ id }) => id)
  t.strictSame(ids, [...ids].sort())
  const files = readdirSync(PROFILES_FOLDER).filter(file => file !== 'index.ts')
  t.strictSame(files.sort(), ids.map(id => `${id}.ts`).sort())
})

t.test('a cell can announce every profile', async t => {
  for (const profile of PROFILES)
    t.ok(DeviceProfileFacts.safeParse(toProfileFacts(profile)).success)
})

t.test('a verb that skips the queues can only reduce risk', async t => {
  const isHarmless = ({ hazard, hazardOf, gate, gateOf }: DeviceVerb): boolean =>
    hazard === 'safe' && [hazardOf, gate, gateOf].every(each => each === undefined)
  t.strictSame(
    listOffenders(({ verb }) => verb.isUrgent !== true || isHarmless(verb)),
    [],
  )
})

t.test('only an unsafe verb names a gate, and it is one of device commands', async t => {
  const gates = [undefined, LIVE_GATE, CRITICAL_GATE]
  t.strictSame(
    listOffenders(
      ({ verb: { gate, hazard } }) =>
        gates.includes(gate) && (gate === undefined || hazard === 'unsafe'),
    ),
    [],
  )
})

t.test('an interlock reads a property of its profile', async t => {
  t.strictSame(
    listOffenders(({ verb: { interlocks = [] }, properties }) =>
      interlocks.every(({ property }) => properties.includes(property)),
    ),
    [],
  )
})

/** Places in parameters where a number has no limit. */
const findUnlimited = (schema: Record<string, unknown>, at: string): string[] => {
  const { type, properties = {}, items, anyOf = [] } = schema
  const [hasMin, hasMax] = [/^(exclusiveMinimum|minimum)$/, /^(exclusiveMaximum|maximum)$/].map(
    pattern => Object.keys(schema).some(key => pattern.test(key)),
  )
  const own = (type === 'number' || type === 'integer') && !(hasMin && hasMax) ? [at] : []
  const inside: [Record<string, unknown>, string][] = [
    ...Object.entries(properties as Record<string, Record<string, unknown>>).map(
      ([name, each]): [Record<string, unknown>, string] => [each, `${at}.${name}`],
    ),
    ...(anyOf as Record<string, unknown>[]).map((each): [Record<string, unknown>, string] => [
      each,
      at,
    ]),
    ...(items ? [[items, `${at}[]`] as [Record<string, unknown>, string]] : []),
  ]
  return [...own, ...inside.flatMap(([each, place]) => findUnlimited(each, place))]
}

t.test('every number of a verb that acts has a limit on both sides', async t => {
  const acting = VERBS.filter(({ verb }) => ['caution', 'unsafe'].includes(verb.hazard))
  t.strictSame(
    acting.flatMap(({ name, verb }) => findUnlimited(jsonSchema(verb.params), name)),
    [],
  )
})
