import t from 'tap'
import { type Outlet, openEventStream } from '../../../../coordinator/kernel/events/event-stream.ts'
import { TypePattern } from '../../../../coordinator/kernel/events/event-view.ts'
import {
  EVENT_TOPICS,
  isWanted,
  mayHear,
  TYPE_PATTERN,
} from '../../../../coordinator/kernel/events/topics.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createEvents } from '../../../support/memory-events.ts'

const logger = { warn: () => {} }
const source = '/shoal/test'

const turn = () => new Promise(resolve => setImmediate(resolve))

/** A stream whose reader takes as much as the test lets it. */
const scene = (lastEventId?: string, kept = 3) => {
  const events = createEvents({ source, logger, kept })
  const written: string[] = []
  let takes = true
  let drained = Promise.withResolvers<boolean>()
  let ended = 0
  let cuts = 0
  const outlet: Outlet = {
    write: text => {
      written.push(text)
      return takes
    },
    waitForDrain: () => drained.promise,
    end: () => void ended++,
  }
  const open = (patterns: string[] = [], operator = true, id = lastEventId) =>
    openEventStream({
      events,
      outlet,
      patterns,
      lastEventId: id,
      source,
      hearer: () => ({ tenantId: 'one', operator, sees: () => true }),
      now: () => 0,
      runtime: systemRuntime,
      cut: () => void cuts++,
    })
  const types = () => written.flatMap(text => /"type":"([^"]+)"/.exec(text)?.[1] ?? [])
  return {
    events,
    open,
    written,
    types,
    stall: () => {
      takes = false
    },
    go: (fine: boolean) => {
      takes = true
      drained.resolve(fine)
      drained = Promise.withResolvers()
    },
    state: () => ({ ended, cuts }),
  }
}

t.test('events carry their ids, and only requested and permitted ones are sent', async t => {
  const { events, open, written, types } = scene()
  events.publish('shoal.cell.before', null)
  open(['shoal.cell.*', 'shoal.gate.approved'])
  const { id } = events.publish('shoal.cell.ready', null)
  events.publish('shoal.gate.approved', { tenant_id: 'one' })
  events.publish('shoal.gate.approved', { tenant_id: 'two' })
  await turn()
  events.publish('shoal.gate.approved', null)
  events.publish('shoal.gate.blocked', { tenant_id: 'one' })
  events.publish('shoal.unheard.of', null)
  await turn()
  t.strictSame(types(), ['shoal.cell.ready', 'shoal.gate.approved'])
  t.match(written[0], /^retry: \d+\n\n$/)
  t.match(written[1], new RegExp(`^id: ${id}\ndata: \\{.*\\}\n\n$`))
})

t.test('a key without an operator role receives task events of its tenant alone', async t => {
  const { events, open, types } = scene()
  open([], false)
  events.publish('shoal.cell.ready', null)
  events.publish('shoal.gate.approved', { tenant_id: 'one' })
  events.publish('shoal.task.done', { tenant_id: 'two' })
  await turn()
  events.publish('shoal.task.done', { tenant_id: 'one' })
  await turn()
  t.strictSame(types(), ['shoal.task.done'])
})

t.test('a reader that reconnects gets the events it missed', async t => {
  const { events, open, types } = scene()
  const { id } = events.publish('shoal.cell.a', null)
  events.publish('shoal.cell.b', null)
  open([], true, id)
  events.publish('shoal.cell.c', null)
  await turn()
  t.strictSame(types(), ['shoal.cell.b', 'shoal.cell.c'])
})

t.test('dropped events are reported as a gap, and the kept ones follow', async t => {
  const { events, open, types, written } = scene()
  const { id } = events.publish('shoal.cell.a', null)
  for (const name of ['gone', 'b', 'c', 'd']) events.publish(`shoal.cell.${name}`, null)
  open([], true, id)
  await turn()
  t.strictSame(types(), ['shoal.events.gap', 'shoal.cell.b', 'shoal.cell.c', 'shoal.cell.d'])
  t.match(written[1], new RegExp(`^data: .*"after":"${id}"`), 'it has no id of the stream')
})

t.test('a heartbeat gives an idle reader its current position', async t => {
  const { events, open, written } = scene()
  const stream = open(['shoal.gate.*'])
  await turn()
  stream.heartbeat()
  const { id } = events.publish('shoal.cell.ready', null)
  await turn()
  stream.heartbeat()
  t.strictSame(written.slice(1), [': keepalive\n\n', `id: ${id}\n\n`])
})

t.test('a stalled reader is disconnected; an active one misses nothing', async t => {
  const slow = scene()
  slow.open()
  await turn()
  slow.stall()
  slow.events.publish('shoal.cell.a', null)
  await turn()
  slow.events.publish('shoal.cell.b', null)
  slow.go(true)
  await turn()
  t.strictSame(slow.types(), ['shoal.cell.a', 'shoal.cell.b'])
  slow.stall()
  slow.events.publish('shoal.cell.c', null)
  await turn()
  slow.go(false)
  await turn()
  t.strictSame(slow.state(), { ended: 1, cuts: 1 })
})

t.test('a reader that falls behind the ring is disconnected', async t => {
  const slow = scene()
  slow.open()
  await turn()
  slow.stall()
  slow.events.publish('shoal.cell.first', null)
  await turn()
  for (let n = 0; n < 4; n++) slow.events.publish('shoal.cell.more', null)
  slow.go(true)
  await turn()
  t.strictSame(slow.types(), ['shoal.cell.first'])
  t.strictSame(slow.state(), { ended: 1, cuts: 1 })
})

t.test('a closed stream writes nothing more', async t => {
  const { events, open, written } = scene()
  const stream = open()
  await turn()
  stream.close()
  stream.close()
  events.publish('shoal.cell.ready', null)
  stream.heartbeat()
  await turn()
  t.equal(written.length, 1)
})

t.test('patterns', async t => {
  for (const pattern of ['*', 'shoal.*', 'shoal.cell.*', 'shoal.gate.approved', 'shoal.cell.up-to'])
    t.match(pattern, TYPE_PATTERN)
  for (const pattern of ['', 'cell', 'shoal', 'shoal.*.x', 'shoal.cell*', 'shoal..x', 'SHOAL.x'])
    t.notMatch(pattern, TYPE_PATTERN, pattern)
  t.ok(isWanted('shoal.cell.a', []))
  t.ok(isWanted('shoal.cell.a', ['shoal.gate.*', 'shoal.cell.*']))
  t.notOk(isWanted('shoal.cell.ab', ['shoal.cell.a']))
})

t.test('a tenant event that does not name the tenant of the reader does not reach it', async t => {
  const hearer = { tenantId: 'one', operator: true, sees: () => true }
  for (const { prefix, scope } of EVENT_TOPICS)
    for (const data of [null, {}, { tenant_id: 'two' }, 'text']) {
      const event = createEvents({ source, logger }).publish(`${prefix}x`, data)
      t.equal(mayHear(event, hearer), scope === 'fleet', `${prefix} ${JSON.stringify(data)}`)
    }
})

t.test('a type that does not exist is refused in the subscription', t => {
  for (const fine of ['*', 'shoal.*', 'shoal.cell.*', 'shoal.gate.approved'])
    t.equal(TypePattern.safeParse(fine).success, true, fine)
  for (const wrong of ['shoal.gates.*', 'shoal.cell', 'shoal.unheard.of', 'cell.ready'])
    t.equal(TypePattern.safeParse(wrong).success, false, wrong)
  t.match(TypePattern.safeParse('shoal.gates.*').error?.issues[0]?.message, /shoal\.gate\.\*/)
  t.end()
})
