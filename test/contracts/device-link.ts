import type { Test } from 'tap'
import type { DeviceFailure } from '../../devices/device-failure.ts'
import type { DeviceLink } from '../../devices/device-link.ts'
import type { Json } from '../../devices/profile.ts'
import { ShoalError } from '../../shared/errors.ts'
import { DeviceFacts, DeviceState } from '../../shared/wire/device.ts'
import { DeviceOutcome } from '../../shared/wire/device-outcome.ts'
import { waitUntil } from '../support/wait-until.ts'
import { planUse, requireDevice, testDevicePlans, type VerbUse } from './device-plans.ts'

/** A started link with stand-ins of its devices. */
export interface LinkBench {
  link: DeviceLink
  /**
   * Operations that the stand-ins have received so far, oldest first, decoded to the form of the
   * plan. What the link sends by itself to read states is left out.
   */
  listReceived(): readonly Json[]
  /** Makes all devices stop completing commands. */
  hang(): void
  /** True when the stand-in of the device has been told to stop. */
  hasStopped(deviceId: string): boolean
  /** Aborts the signal with which the link was started. */
  end(): void
}

interface LinkCase {
  /** Opens a bench and puts its end on the teardown. Its devices are available and writable. */
  open(t: Test): Promise<LinkBench>
  /** Uses in order, on one bench; their parameters are also the values that fuzzing starts from. */
  uses: readonly VerbUse[]
  /** Use that runs until it is stopped, once the bench hangs. */
  hanging: VerbUse
  /** Secrets that the link knows. */
  secrets?: readonly string[]
}

/** Executes a use; `stop` aborts it. */
const execute = (link: DeviceLink, use: VerbUse, stop = new AbortController()) => {
  const { device, plan } = planUse(link, use)
  const { operations, bounds = {} } = plan
  const context = { signal: stop.signal, report: () => {}, bounds }
  return { device, stop, done: link.execute(device.deviceId, operations, context) }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'not_found'

/** Proves the promises of a link to its cell. */
export const testDeviceLink = (t: Test, { open, uses, hanging, secrets = [] }: LinkCase): void => {
  testDevicePlans(t, { open, uses, secrets })

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

  t.test('a device receives exactly the operations of the plan', async t => {
    const { link, listReceived } = await open(t)
    for (const use of uses) {
      const before = listReceived().length
      const result = await execute(link, use).done
      const received = listReceived().slice(before)
      t.strictSame(received, planUse(link, use).plan.operations, `${use.device} ${use.verb}`)
      requireNoSecret(t, result, `result of ${use.verb}`)
      const { asked } = DeviceOutcome.parse(result)
      const answers = asked.sent.map(({ answer }) => answer)
      t.equal(answers.length, received.length, `${use.verb} says what was asked`)
      t.notOk(answers.includes(null), `${use.verb} has the answers`)
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

  t.test('a stop is acknowledged while a command hangs, and can be repeated', async t => {
    const { link, hang, listReceived, hasStopped } = await open(t)
    hang()
    const { device, done, stop } = execute(link, hanging)
    const failed = done.then(
      () => undefined,
      (error: unknown) => error,
    )
    await waitUntil('the command arrives', async () => listReceived().length > 0)
    for (const round of ['first', 'second']) {
      const outcome = await link.stop(device.deviceId, device.profile.atEstop)
      const { asked } = DeviceOutcome.parse(outcome)
      // a device that is at rest already shows it, perhaps before its second acknowledgement arrives
      const isAcknowledged = typeof asked.sent.at(-1)?.answer === 'string'
      t.ok(isAcknowledged || round === 'second', `the ${round} stop`)
      t.ok(asked.sent.length > 0 && hasStopped(device.deviceId))
    }
    stop.abort(new ShoalError('request_timeout', 'the test aborts it'))
    t.ok(await failed, 'the stopped command does not succeed')
  })

  t.test('an aborted command brings its device to rest before it rejects', async t => {
    const { link, hang, listReceived, hasStopped } = await open(t)
    hang()
    const { device, done, stop } = execute(link, hanging)
    await waitUntil('the command arrives', async () => listReceived().length > 0)
    t.notOk(hasStopped(device.deviceId))
    stop.abort(new ShoalError('request_timeout', 'the test aborts it'))
    const { outcome } = (await done.catch((error: unknown) => error)) as DeviceFailure
    t.ok(hasStopped(device.deviceId))
    const told = DeviceOutcome.parse(outcome).asked.sent
    t.ok(told.length > 1, 'the failure says that the device was told to rest')
  })

  t.test('a device of another link is not found', async t => {
    const { link } = await open(t)
    t.equal(link.readState('dev_other'), undefined)
    const context = { signal: new AbortController().signal, report: () => {}, bounds: {} }
    const errors = await Promise.allSettled([
      link.execute('dev_other', [], context),
      link.stop('dev_other', 'hold'),
    ])
    for (const outcome of errors) t.ok(outcome.status === 'rejected' && isNotFound(outcome.reason))
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
