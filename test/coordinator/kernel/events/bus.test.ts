import t from 'tap'
import { createEvents } from '../../../support/memory-events.ts'

const source = '/shoal/test'
const logger = { warn: () => {} }

t.test('events', async t => {
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
    const typesAfter = (id = '') => {
      const from = events.positionAfter(id)
      return from === undefined ? undefined : events.read(from).events.map(({ type }) => type)
    }
    t.strictSame(typesAfter('0'), undefined)
    t.strictSame(typesAfter(ids[0]), ['2', '3', '4'])
    t.strictSame(typesAfter(ids[3]), [])
    for (const unknown of ['5', '-1', '1e0', 'unknown', '4e8e5f4e-9c2c-4a53-8a1e-0c5e0f1d7f11'])
      t.strictSame(typesAfter(unknown), undefined, unknown)
  })
})
