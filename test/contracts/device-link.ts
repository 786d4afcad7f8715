import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Test } from 'tap'
import * as z from 'zod'
import type { DeviceLink, LinkedDevice } from '../../devices/device-link.ts'
import type { DevicePlan, DeviceVerb, Json, PlanTarget } from '../../devices/profile.ts'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { Hazard } from '../../shared/wire/command.ts'
import { DeviceFacts, DeviceState } from '../../shared/wire/device.ts'
import { isPartSmall, PlanPart } from '../../shared/wire/plan-part.ts'
import { arbitraryFor } from '../support/fuzz/values.ts'
import { recordOutsideCalls } from '../support/outside-calls.ts'
import { waitUntil } from '../support/wait-until.ts'

/** A started link with stand-ins of its devices. */
export interface LinkBench {
  link: DeviceLink
  /**
   * Operations that the stand-ins have received so far, oldest first, decoded to the form of the
   * plan. What the link sends by itself to read states is left out.
   */
  listReceived(): readonly Json[]
  /** From now on no device completes a command. */
  hang(): void
  /** True when the stand-in of the device has been told to stop. */
  hasStopped(deviceId: string): boolean
  /** Aborts the signal with which the link was started. */
  end(): void
}

/** A use of a verb that the stand-ins complete. */
export interface VerbUse {
  /** Name of the device. */
  device: string
  verb: string
  params: Record<string, Json>
}

export interface LinkCase {
  /** Opens a bench and puts its end on the teardown. Its devices are available and writable. */
  open(t: Test): Promise<LinkBench>
  /** Uses in order, on one bench; their parameters are also the values that fuzzing starts from. */
  uses: readonly VerbUse[]
  /** Use that runs until it is stopped, once the bench hangs. */
  hanging: VerbUse
  /** Secrets that the link knows. */
  secrets?: readonly string[]
}

const STOP_TIMEOUT_MS = 500
const FUZZ_RUNS = 300

const requireDevice = (link: DeviceLink, name: string): LinkedDevice => {
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

const planUse = (link: DeviceLink, { device: name, verb: verbName, params }: VerbUse) => {
  const device = requireDevice(link, name)
  const verb = requireVerb(device, verbName)
  const plan = verb.plan(verb.params.parse(params), targetOf(device))
  return { device, plan }
}

/** Executes a use; `stop` aborts it. */
const execute = (link: DeviceLink, use: VerbUse, stop = new AbortController()) => {
  const { device, plan } = planUse(link, use)
  const { operations, bounds = {} } = plan
  const context = { signal: stop.signal, report: () => {}, bounds }
  return { device, stop, done: link.execute(device.deviceId, operations, context) }
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

const isCode =
  (...codes: string[]) =>
  (error: unknown): boolean =>
    error instanceof ShoalError && codes.includes(error.code)

/** What every link does for a cell. */
export const testDeviceLink = (t: Test, { open, uses, hanging, secrets = [] }: LinkCase): void => {
  const requireNoSecret = (t: Test, value: unknown, what: string): void => {
    const text = JSON.stringify(value) ?? ''
    t.notOk(
      secrets.some(secret => text.includes(secret)),
      `${what} without secrets`,
    )
  }

  t.test('devices have stable ids, valid facts and valid readings', async t => {
    const { link } = await open(t)
    const again = (await open(t)).link
    const devices = link.list()
    t.ok(devices.length > 0)
    t.equal(new Set(devices.map(({ deviceId }) => deviceId)).size, devices.length)
    for (const { deviceId, name, profile, site = null, available, writable, options } of devices) {
      t.equal(deviceId, requireDevice(again, name).deviceId)
      t.equal(profile.link, link.kind)
      const facts = { device_id: deviceId, name, profile: profile.id, site, reason: null }
      t.ok(DeviceFacts.safeParse({ ...facts, available, writable, envelope: {} }).success)
      const state = DeviceState.parse(link.readState(deviceId))
      const unknown = Object.keys(state.readings).filter(key => !(key in profile.properties))
      t.strictSame(unknown, [], `${name} reports only properties of its profile`)
      requireNoSecret(t, [options, state], name)
    }
  })

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

  t.test('a device receives exactly the operations of the plan', async t => {
    const { link, listReceived } = await open(t)
    for (const use of uses) {
      const before = listReceived().length
      const result = await execute(link, use).done
      const received = listReceived().slice(before)
      t.strictSame(received, planUse(link, use).plan.operations, `${use.device} ${use.verb}`)
      requireNoSecret(t, result, `result of ${use.verb}`)
    }
  })

  t.test('operations that no plan contains are refused before anything is sent', async t => {
    const { link, listReceived } = await open(t)
    const context = { signal: new AbortController().signal, report: () => {}, bounds: {} }
    const { deviceId } = requireDevice(link, hanging.device)
    for (const junk of ['x', 7, null, {}, { op: 'junk' }, ['junk']])
      await t.rejects(link.execute(deviceId, [junk], context), { name: 'ShoalError' })
    t.strictSame(listReceived(), [])
  })

  t.test(
    'a stop is confirmed within 500 ms while a command hangs, and can be repeated',
    async t => {
      const { link, hang, listReceived, hasStopped } = await open(t)
      hang()
      const { device, done, stop } = execute(link, hanging)
      const failed = done.then(
        () => undefined,
        (error: unknown) => error,
      )
      await waitUntil('the command arrives', async () => listReceived().length > 0)
      for (const round of ['first', 'second']) {
        const late = sleep(STOP_TIMEOUT_MS, 'late')
        const stopped = link.stop(device.deviceId, device.profile.atEstop)
        t.equal(await Promise.race([stopped, late]), undefined, `the ${round} stop`)
        t.ok(hasStopped(device.deviceId))
      }
      stop.abort(new ShoalError('request_timeout', 'the test aborts it'))
      t.ok(await failed, 'the stopped command does not succeed')
    },
  )

  t.test('an aborted command brings its device to rest before it rejects', async t => {
    const { link, hang, listReceived, hasStopped } = await open(t)
    hang()
    const { device, done, stop } = execute(link, hanging)
    await waitUntil('the command arrives', async () => listReceived().length > 0)
    t.notOk(hasStopped(device.deviceId))
    stop.abort(new ShoalError('request_timeout', 'the test aborts it'))
    await t.rejects(done)
    t.ok(hasStopped(device.deviceId))
  })

  t.test('a device of another link is not found', async t => {
    const { link } = await open(t)
    t.equal(link.readState('dev_other'), undefined)
    const context = { signal: new AbortController().signal, report: () => {}, bounds: {} }
    const errors = await Promise.allSettled([
      link.execute('dev_other', [], context),
      link.stop('dev_other', 'hold'),
    ])
    for (const outcome of errors)
      t.ok(outcome.status === 'rejected' && isCode('not_found')(outcome.reason))
  })

  t.test('the end of a link rejects what it executes', async t => {
    const { link, hang, listReceived, end } = await open(t)
    hang()
    const { done } = execute(link, hanging)
    await waitUntil('the command arrives', async () => listReceived().length > 0)
    const ended = t.rejects(done)
    end()
    await ended
  })
}
