import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import * as z from 'zod'
import { loadShippedGates } from '../../coordinator/access/gates/definition.ts'
import { toProfileFacts } from '../../daemon/devices/device-facts.ts'
import type { DeviceProfile, DeviceVerb, PlanTarget } from '../../devices/profile.ts'
import { PROFILES } from '../../devices/profiles/index.ts'
import { SHARED_PROPERTIES } from '../../devices/properties.ts'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { DeviceProfileFacts } from '../../shared/wire/device.ts'
import { LIVE_GATE } from '../../shared/wire/plan-part.ts'
import { arbitraryFor } from '../support/fuzz/values.ts'

/** Ends of names by their unit. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  '%': ['_percent'],
  m: ['_m'],
  mm: ['_mm'],
  'm/s': ['_m_s'],
  '°': ['_degrees', 'lat', 'lon'],
  '°C': ['_celsius'],
  W: ['_watts'],
  V: ['_volts'],
  A: ['_amperes'],
  Wh: ['_watt_hours'],
  kWh: ['_kwh'],
  s: ['_s', '_seconds'],
  min: ['_minutes'],
  lx: ['_lux'],
  hPa: ['_hpa'],
  ppm: ['_ppm'],
}

/** Most conditions of a verb: with those of the limits they are shown together. */
const MAX_INTERLOCKS = 16

const verbsOf = ({ id, verbs }: DeviceProfile): [string, DeviceVerb][] =>
  Object.entries(verbs).map(([name, verb]) => [`${id} ${name}`, verb])

const all = PROFILES.flatMap(verbsOf)

/** Names of those that violate a rule. */
const violating = <T>(items: readonly [string, T][], isRight: (item: T) => boolean): string[] =>
  items.flatMap(([name, item]) => (isRight(item) ? [] : [name]))

const MOVING = ['robot', 'drone', 'printer']

t.test('each profile is listed under the name of its file, and can be announced', async t => {
  const files = readdirSync(new URL('../../devices/profiles', import.meta.url))
  const names = files.filter(file => file !== 'index.ts').map(file => file.replace('.ts', ''))
  t.strictSame(PROFILES.map(({ id }) => id).sort(), names.sort())
  for (const profile of PROFILES)
    t.ok(DeviceProfileFacts.safeParse(toProfileFacts(profile)).success)
})

t.test('a property with a unit has it in its name, and shared ones mean the same', async t => {
  const properties = PROFILES.flatMap(({ id, properties }) =>
    Object.entries(properties).map(([name, facts]) => ({ id, name, facts })),
  )
  const wrong = properties.filter(
    ({ name, facts: { unit } }) =>
      unit !== undefined && !SUFFIXES[unit]?.some(suffix => name.endsWith(suffix)),
  )
  t.strictSame(wrong, [])
  const shared = new Map(Object.entries(SHARED_PROPERTIES).map(([name, { unit }]) => [name, unit]))
  const other = properties.filter(
    ({ name, facts }) => shared.has(name) && shared.get(name) !== facts.unit,
  )
  t.strictSame(other, [])
})

t.test('a hazard that depends on parameters is declared in words too', async t => {
  const isDescribed = ({ hazardOf, hazardRule }: DeviceVerb) =>
    (hazardOf === undefined) === (hazardRule === undefined)
  t.strictSame(violating(all, isDescribed), [])
})

t.test('a verb that passes every queue can only reduce risk', async t => {
  const urgent = all.filter(([, { isUrgent }]) => isUrgent)
  const isPlain = ({ hazard, hazardOf, gate, gateOf, interlocks = [] }: DeviceVerb) =>
    hazard === 'safe' && !hazardOf && !gate && !gateOf && interlocks.length === 0
  t.strictSame(violating(urgent, isPlain), [])
  const stops = all.filter(([name]) => /^\S+ (stop|hold|land)$/.test(name))
  t.strictSame(
    violating(stops, ({ isUrgent }) => isUrgent === true),
    [],
  )
})

t.test('what moves has a stop, and an e-stop does something to it', async t => {
  const moving = PROFILES.filter(({ kind }) => MOVING.includes(kind))
  const rest = moving.filter(({ verbs, atEstop }) => !verbs.stop?.isUrgent || atEstop === 'none')
  t.strictSame(
    rest.map(({ id }) => id),
    [],
  )
})

t.test('a gate is that of an unsafe verb, and exists', async t => {
  const gates = loadShippedGates()
  const isRight = ({ hazard, gate }: DeviceVerb) =>
    gate === undefined || (hazard === 'unsafe' && Object.hasOwn(gates, gate))
  t.strictSame(violating(all, isRight), [])
  t.ok(Object.hasOwn(gates, LIVE_GATE))
})

t.test('the conditions of a verb are few, and on properties of its profile', async t => {
  const wrong = PROFILES.flatMap(profile =>
    violating(
      verbsOf(profile),
      ({ interlocks = [] }) =>
        interlocks.length <= MAX_INTERLOCKS &&
        interlocks.every(({ property }) => Object.hasOwn(profile.properties, property)),
    ),
  )
  t.strictSame(wrong, [])
})

t.test('parameters are strict', async t => {
  const isStrict = ({ params }: DeviceVerb) =>
    z.toJSONSchema(params, { io: 'input' }).additionalProperties === false
  t.strictSame(violating(all, isStrict), [])
})

const TARGET: PlanTarget = { device_id: 'dev_any', options: {}, envelope: {} }

/** A plan, or why there is none. */
const planOnce = (verb: DeviceVerb, params: never): string => {
  try {
    return canonicalJson(verb.plan(params, TARGET))
  } catch (error) {
    return (error as Error).message
  }
}

t.test('a plan depends on its call alone, neither on the clock nor on chance', async t => {
  const forbid = () => {
    throw new Error('a plan reads nothing')
  }
  const real = { now: Date.now, random: Math.random }
  for (const [name, verb] of all) {
    const schema = z.toJSONSchema(verb.params, { io: 'input' }) as Record<string, unknown>
    fc.assert(
      fc.property(arbitraryFor(schema, '', {}), given => {
        const params = verb.params.safeParse(given)
        if (!params.success) return true
        const first = planOnce(verb, params.data as never)
        Date.now = forbid
        Math.random = forbid
        try {
          return planOnce(verb, params.data as never) === first
        } finally {
          Date.now = real.now
          Math.random = real.random
        }
      }),
      { numRuns: 50 },
    )
    t.pass(name)
  }
})
