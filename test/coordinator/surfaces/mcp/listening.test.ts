import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { listChangedUris } from '../../../../coordinator/surfaces/mcp/changes.ts'
import { createListening } from '../../../../coordinator/surfaces/mcp/listening.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'

const me = { tenantId: 'home', personId: 'ada' }

t.test('a change is sent to the listeners that may see it', async t => {
  for (const [type, subject, data, expected] of [
    ['shoal.cell.ready', 'c1', {}, ['shoal://cells', 'shoal://cells/c1']],
    ['shoal.alert.raised', 'a1', {}, ['shoal://alerts']],
    ['shoal.fleet.degraded', undefined, {}, ['shoal://cells']],
    [
      ...(['shoal.gate.requested', 'r1', { tenant_id: 'home' }] as const),
      ['shoal://gates/requests', 'shoal://gates/requests/r1'],
    ],
    ['shoal.gate.requested', 'r1', { tenant_id: 'other' }, []],
    ['shoal.gate.requested', 'r1', {}, []],
    ['shoal.gate.requested', 'r1', null, []],
    [
      ...(['shoal.session.docked', 's1', { tenant_id: 'home', person_id: 'ada' }] as const),
      ['shoal://sessions', 'shoal://sessions/s1'],
    ],
    [
      ...(['shoal.session.docked', 's1', { tenant_id: 'home', person_id: 'eve' }] as const),
      ['shoal://sessions/s1'],
    ],
    ['shoal.session.docked', 's1', { tenant_id: 'other', person_id: 'ada' }, []],
    ['shoal.nothing.known', 'x', {}, []],
    ['shoal.constructor.x', 'x', {}, []],
  ] as const)
    t.strictSame(
      listChangedUris({ type, data, ...(subject && { subject }) }, me),
      expected,
      `${type} ${JSON.stringify(data)}`,
    )
})

const URIS = ['shoal://cells', 'shoal://alerts']

/** A stream whose source does with changes what the library does: it keeps all of them. */
const scene = (t: Test, stallMs = 60_000) => {
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const stalls: ShoalError[] = []
  const listening = createListening({
    events,
    stallMs,
    listener: me,
    uris: URIS,
    id: 'listen:1',
    onStalled: error => void stalls.push(error),
  })
  let kept = 0
  let cancelled = false
  let stop = (): void => {}
  const source = new ReadableStream<Uint8Array>({
    start: controller => {
      stop = listening.bus.subscribe(event => {
        kept++
        controller.enqueue(Buffer.from(`${JSON.stringify(event)}\n`))
      })
    },
    cancel: () => {
      cancelled = true
      stop()
    },
  })
  const reader = listening.pace(source).getReader()
  t.teardown(() => reader.cancel())
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read()
    return done ? undefined : Buffer.from(value).toString()
  }
  return { events, listening, read, stalls, kept: () => kept, cancelled: () => cancelled, reader }
}

t.test('unread changes are merged to one per resource', async t => {
  const { events, read, kept } = scene(t)
  for (let n = 0; n < 5000; n++) {
    events.publish('shoal.cell.ready', {}, `c${n}`)
    events.publish('shoal.alert.raised', {}, `a${n}`)
  }
  t.ok(kept() <= 1, `${kept()} were made`)
  t.match(await read(), /shoal:\/\/cells"/)
  t.match(await read(), /shoal:\/\/alerts"/)
  const next = read()
  events.publish('shoal.alert.cleared', {}, 'a1')
  t.match(await next, /shoal:\/\/alerts"/, 'who waits is told at once')
  t.equal(kept(), 3)
})

t.test('a stalled reader is disconnected with the reason', async t => {
  const { events, read, stalls, cancelled } = scene(t, 1)
  events.publish('shoal.cell.ready', {}, 'c1')
  t.match(await read(), /shoal:\/\/cells"/)
  while (stalls.length === 0) await after(1)
  t.match(stalls, [{ code: 'request_timeout', message: 'the client read nothing for 0.001 s' }])
  t.ok(cancelled(), 'nothing is made for it any more')
  const last = await read()
  t.match(last, /^event: message\ndata: /)
  t.match(JSON.parse(last?.split('data: ')[1] ?? ''), {
    jsonrpc: '2.0',
    id: 'listen:1',
    error: { code: -32091, data: { code: 'request_timeout' } },
  })
  t.equal(await read(), undefined)
})

t.test('an ended stream states the reason, also to a waiting reader', async t => {
  const { listening, read, cancelled } = scene(t)
  const waiting = read()
  listening.end(new ShoalError('auth_required', 'the key is no longer valid'))
  t.match(await waiting, /"code":-32081,"message":"the key is no longer valid"/)
  t.equal(await read(), undefined)
  t.ok(cancelled())
  t.doesNotThrow(() => listening.end(new ShoalError('auth_required', 'again')))
})

t.test('a reader that leaves is removed', async t => {
  const { events, reader, cancelled, kept } = scene(t)
  await reader.cancel()
  t.ok(cancelled())
  events.publish('shoal.cell.ready', {}, 'c1')
  t.equal(kept(), 0)
})
