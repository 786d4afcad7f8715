import fc from 'fast-check'
import type { Test } from 'tap'
import * as z from 'zod'
import type { DeviceLink, LinkedDevice } from '../../devices/device-link.ts'
import type { DevicePlan, DeviceVerb, Json, PlanTarget } from '../../devices/profile.ts'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { Hazard } from '../../shared/wire/command.ts'
import { isPartSmall, PlanPart } from '../../shared/wire/plan-part.ts'
import { arbitraryFor } from '../support/fuzz/values.ts'
import { recordOutsideCalls } from '../support/outside-calls.ts'

/** A use of a verb that the stand-ins complete. */
export interface VerbUse {
  /** Name of the device. */
  device: string
  verb: string
  params: Record<string, Json>
}

interface PlanCase {
  open(t: Test): Promise<{ link: DeviceLink }>
  /** Uses whose parameters are the values that fuzzing starts from. */
  uses: readonly VerbUse[]
  /** Secrets that the link knows. */
  secrets: readonly string[]
}

const FUZZ_RUNS = 300

export const requireDevice = (link: DeviceLink, name: string): LinkedDevice => {
  const device = link.list().find(each => each.name === name)
  if (device === undefined) throw new Error(`the link lists no ${name}`)
  return device
}

const requireVerb = ({ profile }: LinkedDevice, name: string): DeviceVerb => {
  const verb = profile.verbs[name]
  if (verb === undefined) throw new Error(`${profile.id} has no verb ${name}`)
  return verb
}

const targetOf = ({ deviceId, options, envelope = {} }: LinkedDevice): PlanTarget => ({
  device_id: deviceId,
  options,
  envelope,
})

export const planUse = (link: DeviceLink, { device: name, verb: verbName, params }: VerbUse) => {
  const device = requireDevice(link, name)
  const verb = requireVerb(device, verbName)
  const plan = verb.plan(verb.params.parse(params), targetOf(device))
  return { device, plan }
}

const rankHazard = (hazard: Hazard): number => Hazard.options.indexOf(hazard)

/** Values of the uses by the name of their parameter. */
const listKnownValues = (uses: readonly VerbUse[]) => {
  const pool: Record<string, string[]> = {}
  for (const { params } of uses)
    for (const [name, value] of Object.entries(params)) {
      const values: Json[] = pool[name] ?? []
      pool[name] = [...values, value] as string[]
    }
  return pool
}

/** Plans every verb of every device with generated parameters that its schema accepts. */
const planGenerated = (
  link: DeviceLink,
  uses: readonly VerbUse[],
  check: (plan: () => DevicePlan, verb: DeviceVerb, params: object, name: string) => void,
): void => {
  const pool = listKnownValues(uses)
  for (const device of link.list())
    for (const [name, verb] of Object.entries(device.profile.verbs)) {
      const schema = z.toJSONSchema(verb.params, { io: 'input' }) as Record<string, unknown>
      const property = fc.property(arbitraryFor(schema, '', pool), params => {
        const parsed = verb.params.safeParse(params)
        if (!parsed.success) return
        const plan = () => verb.plan(parsed.data, targetOf(device))
        check(plan, verb, parsed.data, name)
      })
      fc.assert(property, { numRuns: FUZZ_RUNS })
    }
}

/** The plan, or undefined where the device does not support the parameters. */
const tryPlan = (plan: () => DevicePlan): DevicePlan | undefined => {
  try {
    return plan()
  } catch (error) {
    if (error instanceof ShoalError) return undefined
    throw error
  }
}

const requirePlanInBounds = (plan: DevicePlan, verb: DeviceVerb, params: object, name: string) => {
  const { operations, motion, bounds } = plan
  const hazard = verb.hazardOf?.(params as never) ?? verb.hazard
  if (rankHazard(hazard) > rankHazard(verb.hazard)) throw new Error(`${name} exceeds its hazard`)
  if ((motion?.max_duration_s ?? 0) > verb.timeoutSeconds)
    throw new Error(`${name} moves longer than its time limit`)
  const cell_id = newId('cell')
  const part = {
    cell_id,
    verb: name,
    hazard,
    operations,
    bounds: { ...bounds, motion: { ...motion } },
  }
  if (!isPartSmall(PlanPart.parse(part))) throw new Error(`${name} makes a plan that is too large`)
}

/** Proves the plans of the verbs of every link. */
export const testDevicePlans = (t: Test, { open, uses, secrets }: PlanCase): void => {
  t.test('planning touches nothing, and equal calls return equal plans', async t => {
    const { link } = await open(t)
    let planned = 0
    const calls = recordOutsideCalls(() =>
      planGenerated(link, uses, plan => {
        const [one, two] = [tryPlan(plan), tryPlan(plan)]
        if (canonicalJson(one ?? null) !== canonicalJson(two ?? null))
          throw new Error('the plan changes from call to call')
        if (one !== undefined) planned++
      }),
    )
    t.strictSame(calls, [])
    t.ok(planned > 0)
  })

  t.test('no parameters lead to a plan outside the bounds of its verb', async t => {
    const { link } = await open(t)
    planGenerated(link, uses, (plan, verb, params, name) => {
      const made = tryPlan(plan)
      if (made === undefined) return
      requirePlanInBounds(made, verb, params, name)
      if (secrets.some(secret => JSON.stringify(made).includes(secret)))
        throw new Error(`${name} has a secret in its plan`)
    })
    t.pass()
  })
}
