import t, { type Test } from 'tap'
import { FLAG, FRAME } from '../../../../coordinator/gateway/link/frames.ts'
import { LinkSession } from '../../../../coordinator/gateway/link/link-session.ts'
import { collectAnswer, openRequest } from '../../../support/link-requests.ts'
import {
  answer,
  collectFrames,
  field,
  frame,
  greetedCell,
  OK,
  rawCell,
  setting,
  settings,
  sockets,
  uint32,
} from './raw-cell.ts'

const GET = { method: 'GET', path: '/' } as const
const { endHeaders, endStream } = FLAG
const post = (text: string) => ({ method: 'POST', path: '/', body: Buffer.from(text) }) as const
const MAX_STREAMS = 3

t.test(
  'a session begins with the preface of a client, its settings and a large window',
  async t => {
    const cell = await rawCell(t)
    t.match(await cell.next(FRAME.settings), {
      flags: 0,
      id: 0,
      payload: Buffer.concat([setting(1, 0), setting(2, 0), setting(6, 65_536)]),
    })
    t.match(await cell.next(FRAME.windowUpdate), {
      id: 0,
      payload: uint32(64 * 1024 * 1024 - 65_535),
    })
    cell.send(settings())
    t.match(await cell.next(FRAME.settings), { flags: FLAG.ack, payload: Buffer.alloc(0) })
  },
)

t.test('the requests of one turn of the event loop are written in one piece', async t => {
  const cell = await greetedCell(t)
  await cell.next(FRAME.ping)
  const pieces: Buffer[] = []
  cell.cell.on('data', piece => pieces.push(piece))
  openRequest(cell.link, post('one'))
  openRequest(cell.link, post('two'))
  t.match(await cell.next(FRAME.data), { id: 1, flags: endStream, payload: Buffer.from('one') })
  t.match(await cell.next(FRAME.data), { id: 3, flags: endStream, payload: Buffer.from('two') })
  t.equal(pieces.length, 1)
})

t.test(
  'the head of a request has its fields uncoded, and the first head empties the table',
  async t => {
    const cell = await greetedCell(t)
    const headers = { 'x-request-id': 'abc', 'content-type': 'text/plain', none: undefined, n: 7 }
    openRequest(cell.link, { method: 'POST', path: '/v1/x', headers })
    openRequest(cell.link, GET)
    const encodeHeaders = (path: string) =>
      `86 0104${Buffer.from('cell').toString('hex')} 04${path}`
    const first = [
      `20 83 ${encodeHeaders(`05${Buffer.from('/v1/x').toString('hex')}`)}`,
      field('x-request-id', 'abc'),
      `0f10 0a${Buffer.from('text/plain').toString('hex')}`,
      field('n', '7'),
    ]
    const payload = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
    t.match(await cell.next(FRAME.headers), {
      flags: endHeaders | endStream,
      payload: payload(first.join('')),
    })
    t.match(await cell.next(FRAME.headers), { payload: payload(`82 ${encodeHeaders('012f')}`) })
  },
)

t.test('a head that is too long for a frame continues in the next', async t => {
  const cell = await greetedCell(t)
  const value = 'x'.repeat(40_000)
  const answered = collectAnswer(cell.link, { ...post('body'), headers: { long: value } })
  const frames = [await cell.next(FRAME.headers)]
  for (let i = 0; i < 2; i++) frames.push(await cell.next(FRAME.continuation))
  t.strictSame(
    frames.map(frame => frame?.flags),
    [0, 0, endHeaders],
  )
  const block = Buffer.concat(frames.map(frame => frame?.payload ?? Buffer.alloc(0)))
  t.ok(block.includes(value))
  t.match(await cell.next(FRAME.data), { payload: Buffer.from('body'), flags: endStream })
  cell.send(answer(1))
  t.match(await answered, { isWhole: true })
})

t.test('an answer is passed on as it arrives: head, pieces without padding, trailers', async t => {
  const cell = await greetedCell(t)
  const answered = collectAnswer(cell.link, GET)
  cell.send(
    frame(FRAME.headers, endHeaders, 1, field(':status', '103')),
    frame(
      FRAME.headers,
      FLAG.padded | FLAG.priority,
      1,
      `02 00000000ff ${OK} 0000`.replaceAll(' ', ''),
    ),
    frame(FRAME.continuation, 0, 1, field('a', 'b').slice(0, 4)),
    frame(FRAME.continuation, endHeaders, 1, field('a', 'b').slice(4)),
    frame(FRAME.data, FLAG.padded, 1, `03${Buffer.from('he').toString('hex')}000000`),
    frame(FRAME.data, 0, 1),
    frame(0xee, 0, 1, 'unknown'),
    frame(FRAME.data, 0, 1, Buffer.from('llo')),
    frame(FRAME.headers, endHeaders | endStream, 1, field('used', '7')),
  )
  const { status, text, headers, trailers, isWhole } = await answered
  t.match({ status, text, isWhole }, { status: 200, text: 'hello', isWhole: true })
  t.strictSame([{ ...headers }, { ...trailers }], [{ a: 'b' }, { used: '7' }])
})

t.test('a ping is answered with its payload', async t => {
  const cell = await greetedCell(t)
  await cell.next(FRAME.ping)
  cell.send(frame(FRAME.ping, 0, 0, '0102030405060708'))
  const { flags, payload } = (await cell.next(FRAME.ping)) ?? {}
  t.match({ flags, payload }, { flags: 1, payload: Buffer.from('0102030405060708', 'hex') })
})

t.test('the round trip is measured by the answer to the last ping only', async t => {
  const cell = await greetedCell(t)
  t.equal(cell.link.roundTripMs(), undefined)
  const ping = await cell.next(FRAME.ping)
  cell.send(
    frame(FRAME.ping, FLAG.ack, 0, '0000000000000000'),
    frame(FRAME.ping, 0, 0, '00'.repeat(8)),
  )
  await cell.next(FRAME.ping)
  t.equal(cell.link.roundTripMs(), undefined, 'an answer to no ping is ignored')
  cell.send(frame(FRAME.ping, FLAG.ack, 0, ping?.payload), frame(FRAME.ping, 0, 0, '11'.repeat(8)))
  await cell.next(FRAME.ping)
  t.ok((cell.link.roundTripMs() ?? -1) >= 0)
})

t.test('a cell that does not answer the ping of the coordinator is disconnected', async t => {
  const cell = await rawCell(t, { pingEveryMs: 20 })
  cell.send(settings())
  await cell.up
  cell.send(frame(FRAME.ping, FLAG.ack, 0, '00'.repeat(8)))
  await cell.isDown
  t.match(cell.reasons, [/no answer to a ping within 120 ms/])
})

t.test('GOAWAY ends the requests that the cell has not processed; the others may end', async t => {
  const cell = await greetedCell(t, { settings: [setting(MAX_STREAMS, 2)] })
  const [first, second, third] = [
    openRequest(cell.link, GET),
    openRequest(cell.link, GET),
    openRequest(cell.link, GET),
  ]
  cell.send(frame(FRAME.goAway, 0, 0, Buffer.concat([uint32(2 ** 31 - 1), uint32(0)])))
  await cell.isDown
  t.throws(() => openRequest(cell.link, GET), { code: 'cell_unavailable' })
  t.match(await third.end, { isWhole: false }, 'a waiting request is not sent')
  cell.send(frame(FRAME.goAway, 0, 0, Buffer.concat([uint32(1), uint32(0)])))
  t.match(await second.end, { isWhole: false })
  cell.send(answer(1))
  t.match(await first.end, { isWhole: true })
  await cell.closed
  t.strictSame(cell.reasons, [])
})

const openSession = async (t: Test, firstId: number) => {
  const [cell, socket] = await sockets(t)
  const events: string[] = []
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const made = new LinkSession(
    socket,
    {
      onReady: resolve,
      onLeaving: () => events.push('leaving'),
      onPong: () => {},
      onClosed: reason => events.push(`closed ${reason?.message}`),
    },
    firstId,
  )
  cell.write(settings())
  await ready
  return { cell, socket, events, session: made, ...collectFrames(cell) }
}

t.test('a session whose stream ids are used up ends with its last answer', async t => {
  const { cell, session: made, events, closed } = await openSession(t, 2 ** 31 - 3)
  const first = openRequest(made, GET)
  t.ok(made.isOpen)
  const last = openRequest(made, GET)
  t.strictSame([made.isOpen, events], [false, ['leaving']])
  cell.write(Buffer.concat([answer(2 ** 31 - 3), answer(2 ** 31 - 1)]))
  t.match(await Promise.all([first.end, last.end]), [{ isWhole: true }, { isWhole: true }])
  await closed
  t.strictSame(events, ['leaving', 'closed undefined'])
})

t.test('an open request hears of every beat, and one that has ended of none', async t => {
  const { session: made } = await openSession(t, 1)
  const beats: [number, boolean][] = []
  const { stream } = openRequest(made, GET, { onBeat: (...beat) => void beats.push(beat) })
  made.beat(3, false)
  made.beat(3, true)
  stream.cancel()
  made.beat(3, false)
  t.strictSame(beats, [
    [3, false],
    [3, true],
  ])
  made.destroy()
})

t.test('an error of the socket is the reason of the end', async t => {
  const { socket, events, session: made } = await openSession(t, 1)
  const answered = collectAnswer(made, GET)
  socket.destroy(new Error('no route'))
  t.match(await answered, { isWhole: false })
  t.strictSame(events, ['closed no route'])
})

t.test('a listener that throws ends its session and nothing else', async t => {
  const { cell, events, session: made } = await openSession(t, 1)
  const failing = openRequest(made, GET, {
    onHead: () => {
      throw new Error('a mistake')
    },
  })
  cell.write(answer(1))
  t.match(await failing.end, { isWhole: false })
  t.strictSame(events, ['closed a mistake'])
})

t.test('a second answer on a stream that has ended changes nothing', async t => {
  const { cell, session: made, events } = await openSession(t, 1)
  const first = openRequest(made, GET)
  const second = openRequest(made, GET)
  const broken = frame(FRAME.headers, endHeaders, 1, 'ff')
  const more = frame(FRAME.data, 0, 1, 'aa')
  cell.write(Buffer.concat([answer(1), broken, more, answer(1), answer(3)]))
  t.match(await first.end, { isWhole: true, status: 200, text: '' })
  t.match(await second.end, { isWhole: true, status: 200 })
  t.strictSame(events, [])
  made.destroy()
})
