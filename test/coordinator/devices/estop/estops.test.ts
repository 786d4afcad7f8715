import t from 'tap'
import { observeEstops } from '../../../../coordinator/devices/estop/observe.ts'
import { forgetReleased } from '../../../../coordinator/devices/estop/stop-rows.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { signEstopped } from '../../../../shared/wire/estop.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { heldBy, PERSON, scene, settle } from './scene.ts'

const ALL = { scope: 'all', target: undefined } as const

t.test('a stop is latched on every cell while the store has not answered', async t => {
  const { coordinator, daemons } = await scene(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  coordinator.disk.wait = promise
  const answer = coordinator.estops.engage(ALL, 'smoke', PERSON)
  await settle()
  t.ok(daemons.every(daemon => heldBy(daemon).length === 1))
  t.ok(coordinator.stops.findCovering({ cellId: 'x', deviceId: 'dev_0a', site: null }))
  resolve()
  t.match(await answer, { isStored: true, asked: 2, confirmed: 2, missing: [] })
})

t.test('the documents of a stop leave before anything is logged', async t => {
  const { coordinator, cells } = await scene(t)
  const target = cells[1]?.id ?? ''
  await coordinator.estops.engage({ scope: 'cell', target }, 'fire', PERSON)
  const [sent, engaged] = ['document', 'e-stop engaged'].map(one => coordinator.order.indexOf(one))
  t.equal(sent, 0)
  t.ok(Number(engaged) > 0)
})

t.test('a stop of all is signed once, and what concerns one cell names it', async t => {
  const { coordinator, cells } = await scene(t)
  const newest = () => cells.map(({ documents }) => documents.at(-1))
  await coordinator.estops.engage(ALL, 'smoke', PERSON)
  const [one, two] = newest()
  t.ok(one?.signature !== undefined && one.cell_id === undefined)
  t.strictSame(one, two)
  const target = cells[1]?.id ?? ''
  await coordinator.estops.engage({ scope: 'cell', target }, 'fire', PERSON)
  t.match(newest(), [{ signature: one?.signature }, { cell_id: target }])
})

t.test('a stop that the store refuses is in force, and stored later, once', async t => {
  const { coordinator, daemons, audit } = await scene(t)
  coordinator.disk.fault = new Error('database is locked')
  const { stop, ...reach } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  t.match(reach, { isStored: false, confirmed: 2 })
  t.strictSame(daemons.map(heldBy), [[stop.id], [stop.id]])
  await t.rejects(coordinator.estops.release(stop.id, 'too early', PERSON), {
    code: 'store_unavailable',
  })
  await coordinator.sweep()
  coordinator.disk.fault = undefined
  await coordinator.sweep()
  await coordinator.sweep()
  t.match(await coordinator.estops.list(9), { newest: [{ isStored: true, stop: { id: stop.id } }] })
  t.strictSame(await audit(), ['estop.engage by key:ann'])
})

t.test('a broker that fails at once leaves a stop in force, stored, and sent later', async t => {
  const { coordinator, daemons } = await scene(t)
  coordinator.bus.fault = new Error('the broker is broken')
  const { stop, ...reach } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  t.match(reach, { isStored: true, confirmed: 0, missing: [{}, {}] })
  await coordinator.sweep()
  coordinator.bus.fault = undefined
  await coordinator.sweep()
  t.strictSame(daemons.map(heldBy), [[stop.id], [stop.id]])
})

t.test('a scope reaches the cells that it may hold', async t => {
  const { coordinator, cells, daemons } = await scene(t)
  const [one, two] = cells
  for (const [target, held, covered] of [
    [{ scope: 'site', target: 'hall' }, [1, 1], ['dev_0a', 'dev_0b']],
    [{ scope: 'cell', target: two?.id ?? '' }, [0, 1], []],
    [{ scope: 'device', target: 'dev_0b' }, [1, 0], ['dev_0b']],
  ] as const) {
    const { stop, asked } = await coordinator.estops.engage(target, 'smoke', PERSON)
    const has = daemons.map(daemon => (heldBy(daemon).includes(stop.id) ? 1 : 0))
    t.strictSame(has, held, target.scope)
    t.equal(asked, held[0] + held[1])
    const ids = one?.facts.map(({ device_id }) => device_id) ?? []
    t.strictSame(
      ids.filter(id => daemons[0]?.findStop(id)),
      covered,
    )
    await coordinator.estops.release(stop.id, 'done', PERSON)
    await settle()
  }
})

t.test('a release ends one stop, and a newer one stays', async t => {
  const { coordinator, daemons, audit } = await scene(t)
  const { estops } = coordinator
  const [first, second] = [
    await estops.engage(ALL, 'smoke', PERSON),
    await estops.engage(ALL, 'fire', PERSON),
  ]
  t.match(await estops.release(first.stop.id, 'no smoke', PERSON), {
    stop: { releasedBy: 'key:ann', releaseReason: 'no smoke' },
  })
  await settle()
  t.strictSame(daemons.map(heldBy), [[second.stop.id], [second.stop.id]])
  await t.rejects(estops.release(first.stop.id, 'again', PERSON), { code: 'conflict' })
  await t.rejects(estops.release('est_unknown', 'again', PERSON), { code: 'not_found' })
  t.match(await estops.release(second.stop.id, 'no fire', PERSON), { confirmed: 2, missing: [] })
  await settle()
  t.strictSame(daemons.map(heldBy), [[], []])
  t.equal((await audit()).filter(row => row === 'estop.release by key:ann').length, 2)
})

t.test('a document that is lost is sent again until the cell confirms', async t => {
  const { coordinator, cells, daemons } = await scene(t, { cells: 1 })
  const [cell] = cells
  if (cell === undefined) return
  cell.live.isCut = true
  const { missing, confirmed } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  t.match(
    { missing, confirmed },
    { missing: [{ cellId: cell.id, isConnected: true }], confirmed: 0 },
  )
  t.strictSame(coordinator.observe(), ['estop_engaged', 'estop_unconfirmed'])
  cell.live.isCut = false
  await coordinator.sweep()
  t.equal(heldBy(daemons[0]).length, 1)
  t.strictSame(coordinator.observe(), ['estop_engaged'])
  const sent = cell.documents.length
  await coordinator.sweep()
  t.equal(cell.documents.length, sent, 'a confirmed cell is left alone')
})

t.test('a restart of either side changes nothing', async t => {
  const { coordinator, start, cells, daemons } = await scene(t, { cells: 1 })
  const [cell] = cells
  if (cell === undefined) return
  const { stop } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  t.strictSame(heldBy(await cell.start()), [stop.id], 'the cell has it on its disk')
  cell.memory.disk.text = undefined
  const emptied = await cell.start()
  const second = await start()
  await second.birth(cell)
  t.strictSame(heldBy(emptied), [stop.id], 'and gets it again at its birth')
  t.match(await second.estops.list(9), { total: 1, newest: [{ confirmed: 1 }] })
  cell.live.isCut = true
  await second.estops.release(stop.id, 'done', PERSON)
  await settle()
  cell.live.isCut = false
  const third = await start()
  await third.birth(cell)
  cell.live.ready()
  await settle()
  await third.sweep()
  t.strictSame(heldBy(emptied), [], 'a release reaches a cell that was away')
  t.ok(daemons.length === 1)
})

t.test('a stop that cannot be read stops everything until a person releases it', async t => {
  const { coordinator, start, cells, daemons } = await scene(t)
  const { stop } = await coordinator.estops.engage(
    { scope: 'cell', target: cells[0]?.id ?? '' },
    'fire',
    PERSON,
  )
  await coordinator.store.ledger.free.write(async trx => {
    const zone = { scope: 'zone' as 'all', target: 'hall 4' }
    await trx.updateTable('estops').set(zone).where('id', '=', stop.id).execute()
    const report = {
      cell_id: 'cell_x',
      version: 1,
      latched_json: '{',
      failed_json: '[]',
      reported_at: 1,
    }
    await trx.insertInto('estop_reports').values(report).execute()
  })
  const second = await start()
  for (const cell of cells) await second.birth(cell)
  const [read] = (await second.estops.list(9)).newest
  t.match(read, { stop: { scope: 'all', reason: /cannot be read/ } })
  t.strictSame(daemons.map(heldBy), [[stop.id], [stop.id]])
  await second.estops.release(stop.id, 'looked at', PERSON)
  await settle()
  t.strictSame(daemons.map(heldBy), [[], []])

  const { ledger } = second.store
  for (const damaged of [1.5, 'soon']) {
    const { stop } = await second.estops.engage(ALL, 'smoke', PERSON)
    const set = { released_at: damaged as number, released_by: 'nobody' }
    await ledger.free.write(trx =>
      trx.updateTable('estops').set(set).where('id', '=', stop.id).execute(),
    )
    await forgetReleased(ledger, Date.now() + 1)
    const third = await start()
    t.match(await third.estops.list(9), { total: 1, newest: [{ stop: { id: stop.id } }] })
    await third.estops.release(stop.id, 'looked at', PERSON)
    t.match(await third.estops.list(9), { total: 0 })
    await t.rejects(third.estops.release(stop.id, 'again', PERSON), { code: 'conflict' })
    await second.store.revisions.poll()
  }
})

t.test('two coordinators agree, whoever engages and whoever releases', async t => {
  const { coordinator: one, start, cells, daemons } = await scene(t)
  const two = await start()
  await two.store.revisions.poll()
  const first = await one.estops.engage(ALL, 'smoke', PERSON)
  const second = await two.estops.engage({ scope: 'site', target: 'hall' }, 'fire', PERSON)
  await one.store.revisions.poll()
  await two.store.revisions.poll()
  await settle()
  const ids = [first.stop.id, second.stop.id]
  for (const daemon of daemons) t.strictSame(heldBy(daemon), ids)
  await two.estops.release(first.stop.id, 'done', PERSON)
  await settle()
  await one.sweep()
  for (const daemon of daemons)
    t.strictSame(heldBy(daemon), [second.stop.id], 'also before it is told')
  await one.store.revisions.poll()
  await settle()
  for (const { estops } of [one, two])
    t.match(await estops.list(9), { total: 1, newest: [{ stop: { id: second.stop.id } }] })
  const versions = cells.map(({ documents }) => documents.map(({ version }) => version))
  for (const list of versions) t.ok(Math.max(...list) >= 3)
})

t.test('a report that the cell did not sign is dropped', async t => {
  const { coordinator, cells } = await scene(t, { cells: 1 })
  const [cell] = cells
  if (cell === undefined) return
  cell.live.isCut = true
  const { stop } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  const [engaged] = cell.documents[0]?.engaged ?? []
  const latched = { ...engaged, estop_id: stop.id, is_local: false, failed: [] }
  const body = { version: 1, cell_id: cell.id, latched: [latched], at: 1 } as never
  coordinator.estopReceiver.onReport(
    cell.id,
    signEstopped(body, createSigner(generatePrivateKey())),
  )
  coordinator.estopReceiver.onReport(cell.id, { nonsense: true })
  await settle()
  t.match(await coordinator.estops.list(9), { newest: [{ confirmed: 0 }] })
})

t.test('stops of a machine become stops of the fleet, for its cell alone', async t => {
  const { coordinator, cells, daemons, audit } = await scene(t)
  const local = await daemons[0]?.engage({ reason: 'sparks', by: 'local:bob' })
  await settle()
  await coordinator.sweep()
  const seat = { deviceId: 'dev_0a', site: null }
  t.ok(coordinator.stops.findCovering({ ...seat, cellId: cells[0]?.id ?? '' }))
  t.notOk(coordinator.stops.findCovering({ ...seat, cellId: cells[1]?.id ?? '' }))
  t.match(await coordinator.estops.list(9), {
    newest: [{ stop: { id: local?.estop_id, isLocal: true, reason: 'sparks' }, asked: 1 }],
  })
  t.strictSame(heldBy(daemons[1]), [])
  await daemons[0]?.release({ reason: 'mended', by: 'local:bob' })
  await waitUntil('the release is stored', async () => {
    await settle()
    await coordinator.sweep()
    return (await coordinator.estops.list(9)).total === 0
  })
  t.strictSame(daemons[0]?.listReleased(), [], 'the coordinator has confirmed the release')
  const by = `by cell:${cells[0]?.id}`
  t.strictSame(await audit(), [`estop.take_over ${by}`, `estop.release ${by}`])
})

t.test('a person can release a stop of a machine at the coordinator', async t => {
  const { coordinator, daemons } = await scene(t)
  const local = await daemons[0]?.engage({ deviceId: 'dev_0a', reason: 'sparks', by: 'local:bob' })
  await settle()
  await coordinator.sweep()
  await coordinator.estops.release(local?.estop_id ?? '', 'seen', PERSON)
  await settle()
  t.strictSame(heldBy(daemons[0]), [])
})

t.test('a local stop that came and went while disconnected is in the audit', async t => {
  const { coordinator, cells, daemons, audit } = await scene(t)
  const [cell] = cells
  if (cell === undefined) return
  cell.live.isCut = true
  await daemons[0]?.engage({ reason: 'sparks', by: 'local:bob' })
  await daemons[0]?.release({ reason: 'mended', by: 'local:bob' })
  cell.live.isCut = false
  cell.live.ready()
  await settle()
  await coordinator.sweep()
  const by = `by cell:${cell.id}`
  t.strictSame(await audit(), [`estop.take_over ${by}`, `estop.release ${by}`])
  t.strictSame(daemons[0]?.listReleased(), [])
})

t.test('a stop of a coordinator that ended before it stored it is taken over', async t => {
  const { coordinator, start, daemons, cells } = await scene(t)
  coordinator.disk.fault = new Error('disk is full')
  const { stop } = await coordinator.estops.engage(ALL, 'smoke', PERSON)
  const second = await start()
  for (const { live } of cells) live.ready()
  await settle()
  await second.sweep(0)
  t.match(await second.estops.list(9), { total: 0 }, 'its coordinator may still store it')
  await second.sweep()
  t.match(await second.estops.list(9), { total: 1, newest: [{ stop: { id: stop.id } }] })
  await second.estops.release(stop.id, 'done', PERSON)
  await second.sweep()
  t.strictSame(daemons.map(heldBy), [[], []], 'every cell that has it ends it')
})

t.test('a cell cannot release a stop of the fleet that is not stored yet', async t => {
  const { coordinator: one, start, daemons, cells } = await scene(t)
  const two = await start()
  const stored = Promise.withResolvers<void>()
  one.disk.wait = stored.promise
  const engaging = one.estops.engage(ALL, 'smoke', PERSON)
  await settle()
  const [id = ''] = heldBy(daemons[1])
  const [rogue, ...others] = cells
  const release = { estop_id: id, released_at: 1, released_by: 'mallory', reason: 'none' }
  const claim = { version: 0, cell_id: rogue?.id ?? '', latched: [], released: [release], at: 1 }
  two.estopReceiver.onReport(rogue?.id ?? '', signEstopped(claim, rogue?.key as never))
  await settle()
  await two.sweep()
  stored.resolve()
  await engaging
  for (const { store } of [one, two]) await store.revisions.poll()
  await two.sweep()
  await one.sweep()
  t.match(await one.estops.list(9), { total: 1, newest: [{ stop: { id, scope: 'all' } }] })
  t.match(await two.estops.list(9), { total: 1, newest: [{ stop: { id, scope: 'all' } }] })
  t.strictSame(heldBy(daemons[1]), [id])
  t.notOk(others.some(cell => cell.documents.some(({ released }) => released.length > 0)))
})

t.test('released stops go after the retention of the audit, one in force never', async t => {
  const { coordinator } = await scene(t, { cells: 1 })
  const { estops, store } = coordinator
  const targets = ['dev_0a', 'dev_0b', 'dev_0c']
  for (const target of targets) await estops.engage({ scope: 'device', target }, 'x', PERSON)
  const { newest } = await estops.list(9)
  const idOf = (target: string) => newest.find(({ stop }) => stop.target === target)?.stop.id ?? ''
  const [old, recent, inForce] = targets.map(idOf)
  for (const id of [old, recent]) await estops.release(id ?? '', 'done', PERSON)
  const daysAgo = (days: number) => Date.now() - days * 86_400_000
  await store.ledger.free.write(async trx => {
    await trx
      .updateTable('estops')
      .set({ engaged_at: daysAgo(400) })
      .execute()
    for (const [id, days] of [
      [old, 184],
      [recent, 182],
    ] as const)
      await trx
        .updateTable('estops')
        .set({ released_at: daysAgo(days) })
        .where('id', '=', id ?? '')
        .execute()
  })
  await coordinator.sweep()
  const rows = await store.ledger.read.selectFrom('estops').select('id').execute()
  t.strictSame(rows.map(({ id }) => id).toSorted(), [recent, inForce].toSorted())
})

t.test('a cell of an older level is named, and not sent anything', async t => {
  const { coordinator, cells } = await scene(t, { cells: 1 })
  const [cell] = cells
  const known = coordinator.registry.get(cell?.id ?? '')
  if (known?.announce) known.announce = { ...known.announce, capability: 5 }
  t.match(await coordinator.estops.engage(ALL, 'smoke', PERSON), {
    missing: [{ isConnected: true, isSupported: false }],
  })
  t.strictSame(cell?.documents, [])
})

t.test('many stops keep the documents of a cell small, and never cover less', async t => {
  const { coordinator, cells } = await scene(t, { cells: 1 })
  const [cell] = cells
  if (cell === undefined) return
  const { announce } = coordinator.registry.get(cell.id) ?? {}
  const ids = Array.from({ length: 40 }, (_, at) => `dev_${at}x`)
  announce?.devices?.push(...(ids.map(id => ({ device_id: id, site: 'hall' })) as never[]))
  const sites = Array.from({ length: 20 }, (_, at) => `site-${at}`)
  for (let again = 0; again < 5; again++) {
    for (const target of ids)
      await coordinator.estops.engage({ scope: 'device', target }, 'x', PERSON)
    for (const target of sites)
      await coordinator.estops.engage({ scope: 'site', target }, 'x', PERSON)
  }
  const { engaged = [] } = cell.documents.at(-1) ?? {}
  t.ok(engaged.length < 256, `${engaged.length} stops`)
  t.ok(engaged.some(({ scope }) => scope === 'all'))
  for (const deviceId of ids)
    t.ok(coordinator.stops.findCovering({ cellId: cell.id, deviceId, site: 'hall' }))
})

t.test('a stop of a device that several cells announce is widened to everything', async t => {
  const { coordinator, cells } = await scene(t)
  const ids = Array.from({ length: 33 }, (_, at) => `dev_${at}x`)
  const facts = ids.map(id => ({ device_id: id, site: 'hall' })) as never[]
  const [one, both] = cells.map(({ id }) => coordinator.registry.get(id)?.announce?.devices ?? [])
  one?.push(...facts)
  both?.push(...facts.slice(-1))
  const scopes: string[] = []
  for (const target of ids) {
    const { stop } = await coordinator.estops.engage({ scope: 'device', target }, 'x', PERSON)
    scopes.push(stop.scope)
  }
  t.strictSame([...new Set(scopes)], ['device', 'all'], 'the first cell alone would cover less')
  t.equal(scopes.indexOf('all'), 32)
})

t.test('a device whose cell another coordinator reaches is asked of that cell', async t => {
  const { coordinator, cells } = await scene(t)
  const [near, far] = cells
  const known = coordinator.registry.get(far?.id ?? '')
  if (near === undefined || far === undefined || known === undefined) return
  coordinator.registry.set(far.id, { id: far.id, presence: 'unknown' } as typeof known)
  const device = { id: 'dev_1a', cellId: far.id, alsoOn: [] }
  coordinator.stored.set(device.id, device as never)
  const target = { scope: 'device', target: device.id } as const
  t.match(await coordinator.estops.engage(target, 'smoke', PERSON), {
    stop: { scope: 'device' },
    asked: 1,
    confirmed: 0,
    missing: [{ cellId: far.id, isConnected: false, isSupported: true }],
  })
  coordinator.stored.set(device.id, { ...device, cellId: near.id, alsoOn: [far.id] } as never)
  t.match(await coordinator.estops.engage(target, 'smoke', PERSON), { asked: 2 })
})

t.test(
  'an alert names the device that it is about, and the one that has not come to rest',
  async t => {
    const { coordinator, cells } = await scene(t, { cells: 1 })
    const facts = cells[0]?.facts ?? []
    for (const [at, one] of facts.entries()) one.name = `rover-${at + 1}`
    await coordinator.estops.engage({ scope: 'device', target: 'dev_0a' }, 'smoke', PERSON)
    const fleet = { cells: () => coordinator.registry.values() }
    const sender = {
      listConnected: () => [...coordinator.registry.values()],
      isConfirmed: () => true,
    }
    const failed = [{ device_id: 'dev_0b', reason: 'no answer' }]
    const reports = { find: () => ({ failed }) as never }
    const { newest } = await coordinator.estops.list(9)
    const stops = { listInForce: () => newest.map(({ stop }) => stop) }
    t.match(
      [...observeEstops({ stops, reports, sender, fleet })].map(({ message }) => message),
      [/ for device rover-1 \(dev_0a\): smoke$/, /^rover-2 \(dev_0b\): no answer$/],
    )
  },
)
