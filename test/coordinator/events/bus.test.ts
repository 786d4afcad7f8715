import t from 'tap'
import { createEvents } from '../../../coordinator/events/bus.ts'

const source = '/shoal/test'
const logger = { warn: () => {} }
const now = () => Date.UTC(2026, 10, 20)

t.test('events', async t => {
  t.test('are CloudEvents 1.0', async t => {
    const event = createEvents({ source, logger, now }).publish(
      'shoal.cell.ready',
      { a: 1 },
      'cell_1',
    )
    t.match(event, {
      specversion: '1.0',
      id: /^[0-9a-f-]{36}$/,
      source,
      type: 'shoal.cell.ready',
      subject: 'cell_1',
      time: '2026-11-20T00:00:00.000Z',
      data: { a: 1 },
    })
  })

  t.test('without a subject have no such member', async t => {
    t.notOk('subject' in createEvents({ source, logger }).publish('shoal.x', null))
  })

  t.test('reach listeners of their prefix or type until they unsubscribe', async t => {
    const events = createEvents({ source, logger })
    const heard: string[] = []
    const stop = events.subscribe('shoal.cell.', event => heard.push(`prefix ${event.type}`))
    events.subscribe(new Set(['shoal.gate.pending']), event => heard.push(`set ${event.type}`))
    for (const type of ['shoal.cell.ready', 'shoal.gate.pending', 'shoal.gate.pending2'])
      events.publish(type, null)
    stop()
    stop()
    events.publish('shoal.cell.lost', null)
    t.strictSame(heard, ['prefix shoal.cell.ready', 'set shoal.gate.pending'])
  })

  t.test('may have the same listener twice, which can unsubscribe once', async t => {
    const events = createEvents({ source, logger })
    let heard = 0
    const listener = () => heard++
    const stop = events.subscribe('a', listener)
    events.subscribe('a', listener)
    stop()
    events.publish('a', null)
    t.equal(heard, 1)
  })

  t.test('reach the other listeners when one throws', async t => {
    const warned: unknown[] = []
    const events = createEvents({
      source,
      logger: { warn: (fields: unknown) => warned.push(fields) },
    })
    const heard: string[] = []
    events.subscribe('', () => {
      throw new RangeError('broken')
    })
    events.subscribe('', event => heard.push(event.type))
    events.publish('a', null)
    t.strictSame(heard, ['a'])
    t.match(warned, [{ type: 'a', err: { message: 'broken' } }])
  })

  t.test('can be replayed from the last id seen, as long as they are kept', async t => {
    const events = createEvents({ source, logger, kept: 3 })
    const ids = ['1', '2', '3', '4'].map(type => events.publish(type, null).id)
    const types = (id = '') => events.listSince(id)?.map(event => event.type)
    t.strictSame(types(ids[0]), undefined)
    t.strictSame(types(ids[1]), ['3', '4'])
    t.strictSame(types(ids[3]), [])
    t.strictSame(types('unknown'), undefined)
  })
})
