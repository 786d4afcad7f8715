import t from 'tap'
import { createDeviceId } from '../../../devices/device-id.ts'
import { MAX_STOPS } from '../../../shared/wire/estop.ts'
import { DEV_A, DEV_B } from '../../support/device-ids.ts'
import { CELL, cellWith, device, engaged, memoryFile, NOW, released } from './scene.ts'

const document = (
  version: number,
  stops: ReturnType<typeof engaged>[],
  ended: ReturnType<typeof released>[] = [],
) => ({ version, engaged: stops, released: ended })

t.test('a stop is on the disk before it is latched, and its devices stop meanwhile', async t => {
  const { estop, disk, stopped } = await cellWith()
  const { promise, resolve } = Promise.withResolvers<void>()
  disk.wait = promise
  let isLatched = false
  const done = estop.engage({ reason: 'smoke', by: 'local:ann' }).then(() => {
    isLatched = true
  })
  t.strictSame(stopped, [DEV_A, DEV_B], 'the devices stop in the same call')
  t.ok(estop.findStop(DEV_A))
  await new Promise(setImmediate)
  t.notOk(isLatched)
  t.notOk(estop.isSaved)
  resolve()
  await done
  t.ok(estop.isSaved)
  t.match(disk.text, /smoke/)
})

t.test('a scope holds the devices that it names', async t => {
  for (const [stop, ids] of [
    [{ scope: 'all', target: null }, [DEV_A, DEV_B]],
    [{ scope: 'cell', target: CELL }, [DEV_A, DEV_B]],
    [{ scope: 'cell', target: 'cell_other' }, []],
    [{ scope: 'site', target: 'hall' }, [DEV_A]],
    [{ scope: 'site', target: 'yard' }, []],
    [{ scope: 'device', target: DEV_B }, [DEV_B]],
  ] as const)
    t.test(`${stop.scope} ${stop.target}`, async t => {
      const { estop, stoppedIds } = await cellWith()
      await estop.apply(document(1, [engaged(stop)]))
      t.strictSame(stoppedIds(), ids)
    })
})

t.test('a restart keeps every stop, and stops the devices again', async t => {
  const before = await cellWith()
  await before.estop.apply(document(4, [engaged({ scope: 'site', target: 'hall' })]))
  await before.estop.engage({ deviceId: DEV_B, reason: 'smoke', by: 'local:ann' })
  const after = await cellWith(undefined, before)
  t.strictSame(after.stopped, [DEV_A, DEV_B])
  t.equal(after.estop.version, 4)
  const { estop_id } = after.estop.listStops().find(({ is_local }) => is_local) ?? {}
  t.strictSame(await after.estop.release({ reason: 'done', by: 'local:ann' }), [estop_id])
  t.strictSame(after.stoppedIds(), [DEV_A], 'the stop of the fleet stays')
  t.match(after.estop.listReleased(), [{ estop_id, reason: 'done', released_by: 'local:ann' }])
})

t.test('a damaged latch holds the whole cell until it is released', async t => {
  const good = await cellWith()
  await good.estop.engage({ reason: 'smoke', by: 'local:ann' })
  const text = good.disk.text ?? ''
  for (const [title, damaged] of [
    ['empty', ''],
    ['cut off', text.slice(0, -20)],
    ['changed', text.replace('smoke', 'smoky')],
    ['of another form', '00000000 {}'],
  ] as const)
    t.test(title, async t => {
      const memory = memoryFile(damaged)
      t.strictSame((await cellWith(undefined, memory)).stoppedIds(), [DEV_A, DEV_B])
      const again = await cellWith(undefined, memory)
      t.strictSame(again.stoppedIds(), [DEV_A, DEV_B], 'also after another start')
      await again.estop.release({ reason: 'looked at', by: 'local:ann' })
      t.strictSame((await cellWith(undefined, memory)).stoppedIds(), [])
    })
  t.test('not readable', async t => {
    const { file } = memoryFile()
    const read = async () => {
      throw new Error('input/output error')
    }
    const { disk } = memoryFile()
    const at = await cellWith(undefined, { disk, file: { ...file, read } })
    t.strictSame(at.stoppedIds(), [DEV_A, DEV_B])
  })
})

t.test('documents of the coordinator', async t => {
  t.test('may come twice', async t => {
    const { estop, stopped, disk } = await cellWith()
    const stop = engaged()
    await estop.apply(document(2, [stop]))
    await estop.apply(document(2, [stop]))
    t.strictSame(stopped, [DEV_A, DEV_B])
    t.equal(disk.writes, 1)
  })

  t.test('may come in another order: an older one neither engages nor releases', async t => {
    const { estop, stoppedIds } = await cellWith()
    const [one, two] = [engaged(), engaged({ scope: 'device', target: DEV_B })]
    await estop.apply(document(1, [one]))
    await estop.apply(document(3, [two], [released(one)]))
    await estop.apply(document(2, [one, two]))
    t.strictSame(stoppedIds(), [DEV_B])
    await estop.apply(document(2, [], [released(two)]))
    t.strictSame(stoppedIds(), [DEV_B])
  })

  t.test('end only the stops that they name', async t => {
    const { estop, stoppedIds } = await cellWith()
    const [one, two] = [engaged(), engaged()]
    await estop.engage({ deviceId: DEV_A, reason: 'smoke', by: 'local:ann' })
    await estop.apply(document(1, [one, two]))
    await estop.apply(document(2, []))
    t.equal(estop.listStops().length, 3, 'a stop that is in neither list stays')
    await estop.apply(document(3, [], [released(one)]))
    t.strictSame(stoppedIds(), [DEV_A, DEV_B], 'a newer stop stays')
    await estop.apply(document(4, [], [released(two)]))
    t.strictSame(stoppedIds(), [DEV_A], 'a local stop stays')
  })

  t.test('of one version add up, as two coordinators may send them', async t => {
    const { estop } = await cellWith()
    await estop.apply(document(1, [engaged()]))
    await estop.apply(document(1, [engaged()]))
    t.equal(estop.listStops().length, 2)
  })

  t.test('that the disk refuses are in force, and written with the next one', async t => {
    const { estop, disk, stoppedIds } = await cellWith()
    disk.fault = new Error('no space left on device')
    const stop = document(1, [engaged()])
    await t.rejects(estop.apply(stop), { message: 'no space left on device' })
    t.strictSame(stoppedIds(), [DEV_A, DEV_B])
    t.notOk(estop.isSaved)
    disk.fault = undefined
    await estop.apply(stop)
    t.ok(estop.isSaved)
    t.match(disk.text, stop.engaged[0]?.estop_id ?? '')
  })
})

t.test('a full latch holds at least what it held before', async t => {
  const { estop, stoppedIds } = await cellWith()
  const others = Array.from({ length: MAX_STOPS }, (_, at) =>
    engaged({ scope: 'device', target: createDeviceId(String(at)) }),
  )
  await estop.apply(document(1, others))
  await estop.apply(document(2, [engaged({ scope: 'device', target: DEV_A })]))
  t.equal(estop.listStops().length, MAX_STOPS)
  t.strictSame(stoppedIds(), [DEV_A, DEV_B])
  for (let at = 0; at < 100; at++) await estop.engage({ reason: 'again', by: 'local:ann' })
  t.equal(estop.listStops().length, MAX_STOPS)
})

t.test('many local stops join one of the whole cell', async t => {
  const { estop } = await cellWith()
  for (let at = 0; at < 100; at++)
    await estop.engage({ deviceId: createDeviceId(String(at)), reason: 'again', by: 'local:ann' })
  t.equal(estop.listStops().length, 33)
  t.equal(estop.listStops().at(-1)?.scope, 'all')
})

t.test('a device that does not come to rest is named, and stopped again', async t => {
  const { estop, state, stopped } = await cellWith([device(DEV_A), device(DEV_B)])
  state.stop = async id => {
    if (id === DEV_B) throw new Error('no answer')
  }
  await estop.engage({ reason: 'smoke', by: 'local:ann' })
  await estop.retry()
  t.match(estop.listStops(), [{ failed: [{ device_id: DEV_B, reason: 'no answer' }] }])
  t.strictSame(stopped, [DEV_A, DEV_B, DEV_B])
  state.stop = async () => {}
  await estop.retry()
  t.match(estop.listStops(), [{ failed: [], engaged_at: NOW }])
})

t.test('a held device is stopped at each return, however short it was away', async t => {
  const [staying, roaming] = [device(DEV_A), device(DEV_B)]
  const devices = [staying, roaming]
  const { estop, state, stopped } = await cellWith(devices)
  state.change()
  t.strictSame(stopped, [], 'nothing is held yet')
  await estop.engage({ reason: 'smoke', by: 'local:ann' })
  state.change()
  t.strictSame(stopped, [DEV_A, DEV_B], 'a reading is no return')

  devices.pop()
  state.change()
  devices.push(roaming)
  state.change()
  t.strictSame(stopped.slice(2), [DEV_B], 'it was withdrawn')
  for (const isAvailable of [false, true]) {
    roaming.isAvailable = isAvailable
    state.change()
  }
  t.strictSame(stopped.slice(3), [DEV_B], 'its link lost it')
  await estop.retry()
  t.equal(stopped.length, 4)
})
