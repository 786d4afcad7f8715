import t from 'tap'
import { FLAG, FRAME } from '../../../../coordinator/gateway/link/frames.ts'
import { collectAnswer, openRequest } from '../../../support/link-requests.ts'
import { answer, field, frame, greetedCell, OK, setting, settings, uint32 } from './raw-cell.ts'

const GET = { method: 'GET', path: '/' } as const
const { endHeaders, endStream } = FLAG
const head = (id: number, hex: string, flags: number = endHeaders) =>
  frame(FRAME.headers, flags, id, hex)
const times = (count: number, piece: Buffer) => Buffer.concat(Array(count).fill(piece))

const BYTE = frame(FRAME.data, 0, 1, 'aa')
const PADDING = frame(FRAME.data, FLAG.padded, 1, '020000')
const WIDER = (id: number) => frame(FRAME.windowUpdate, 0, id, uint32(1))

/** Bytes sent while a request is open on stream 1, and the error code with which the session ends. */
const ENDS_THE_SESSION: [what: string, bytes: Buffer, code: number][] = [
  ['a frame of more than 16 KiB', frame(FRAME.data, 0, 1, Buffer.alloc(16_385)), 6],
  ['data on the session', frame(FRAME.data, 0, 0, 'aa'), 1],
  ['data on a stream of the cell', frame(FRAME.data, 0, 2, 'aa'), 1],
  ['data on a stream that was not opened', frame(FRAME.data, 0, 3, 'aa'), 1],
  ['more padding than data', frame(FRAME.data, FLAG.padded, 1, '02aa'), 1],
  ['a head on a stream that was not opened', head(3, OK), 1],
  ['a head on the session', head(0, OK), 1],
  ['more padding than head', head(1, '02aa', endHeaders | FLAG.padded), 1],
  ['half a priority', head(1, 'aabbccdd', endHeaders | FLAG.priority), 6],
  ['padding that leaves half a priority', head(1, '0300000000aabbcc', 0x2c), 6],
  ['a head that cannot be decoded', head(1, 'ff'), 9],
  ['an index outside the static table', head(1, 'be'), 9],
  ['a dynamic table', head(1, `3fe11f${OK}`), 9],
  ['a pushed stream', frame(FRAME.pushPromise, endHeaders, 1, `00000002${OK}`), 1],
  ['a continuation of nothing', frame(FRAME.continuation, endHeaders, 1, OK), 1],
  ['data within a head', Buffer.concat([head(1, OK, 0), frame(FRAME.data, 0, 1, 'aa')]), 1],
  [
    'a ping within a head',
    Buffer.concat([head(1, OK, 0), frame(FRAME.ping, 0, 0, '00'.repeat(8))]),
    1,
  ],
  ['another head within a head', Buffer.concat([head(1, OK, 0), head(1, OK)]), 1],
  [
    'the head of another stream within a head',
    Buffer.concat([head(1, OK, 0), frame(FRAME.continuation, endHeaders, 3, OK)]),
    1,
  ],
  [
    'a head in too many parts',
    Buffer.concat([head(1, OK, 0), times(16, frame(FRAME.continuation, 0, 1))]),
    11,
  ],
  [
    'a head that is too long',
    Buffer.concat([
      head(1, OK, 0),
      times(4, frame(FRAME.continuation, 0, 1, Buffer.alloc(16_384, 0x90))),
    ]),
    11,
  ],
  ['settings on a stream', frame(FRAME.settings, 0, 1), 1],
  ['an incomplete setting', frame(FRAME.settings, 0, 0, '0003000000'), 6],
  ['an acknowledgement with settings', frame(FRAME.settings, FLAG.ack, 0, '000300000001'), 6],
  ['windows that are too large', settings(setting(4, 2 ** 31)), 3],
  ['frames that are too small', settings(setting(5, 16_383)), 1],
  ['frames that are too large', settings(setting(5, 2 ** 24)), 1],
  ['pushes', settings(setting(2, 1)), 1],
  ['a ping of 7 bytes', frame(FRAME.ping, 0, 0, '00'.repeat(7)), 6],
  ['a ping on a stream', frame(FRAME.ping, 0, 1, '00'.repeat(8)), 1],
  ['a short GOAWAY', frame(FRAME.goAway, 0, 0, '00'.repeat(7)), 6],
  ['GOAWAY on a stream', frame(FRAME.goAway, 0, 1, '00'.repeat(8)), 1],
  ['GOAWAY with an error code', frame(FRAME.goAway, 0, 0, '0000000100000002'), 0],
  ['a WINDOW_UPDATE of 3 bytes', frame(FRAME.windowUpdate, 0, 0, '000001'), 6],
  ['a WINDOW_UPDATE by 0', frame(FRAME.windowUpdate, 0, 1, uint32(0)), 1],
  ['a window of the session that is too large', frame(FRAME.windowUpdate, 0, 0, '7fffffff'), 3],
  ['a window of a stream that was not opened', frame(FRAME.windowUpdate, 0, 3, uint32(1)), 1],
  ['a reset of 3 bytes', frame(FRAME.reset, 0, 1, '000001'), 6],
  ['a reset on the session', frame(FRAME.reset, 0, 0, uint32(1)), 1],
  ['a reset of a stream that was not opened', frame(FRAME.reset, 0, 3, uint32(1)), 1],
  ['empty data without end', Buffer.concat([head(1, OK), times(10_005, frame(0, 0, 1))]), 11],
  ['pings without end', times(10_005, frame(FRAME.ping, 0, 0, '00'.repeat(8))), 11],
  [
    'answers to pings that were not sent, without end',
    times(10_005, frame(FRAME.ping, 1, 0, '00'.repeat(8))),
    11,
  ],
  ['settings without end', times(10_005, settings()), 11],
  ['priorities without end', times(10_005, frame(FRAME.priority, 0, 1, '0000000000')), 11],
  ['unknown frames without end', times(10_005, frame(0xbb, 0, 1, 'aa')), 11],
  ['interim heads without end', times(10_005, head(1, field(':status', '103'))), 11],
  ['data of one byte without end', Buffer.concat([head(1, OK), times(12_000, BYTE)]), 11],
  ['padding without end', Buffer.concat([head(1, OK), times(10_005, PADDING)]), 11],
  ['windows of the session, by one byte, without end', times(10_005, WIDER(0)), 11],
  ['windows of a stream, by one byte, without end', times(10_005, WIDER(1)), 11],
  ...Object.entries({
    resets: times(10_005, frame(FRAME.reset, 0, 1, uint32(8))),
    windows: times(10_005, WIDER(1)),
    'data of one byte': times(10_005, BYTE),
    'heads in many parts': times(
      640,
      Buffer.concat([
        head(1, OK, 0),
        times(14, frame(FRAME.continuation, 0, 1)),
        frame(FRAME.continuation, endHeaders, 1),
      ]),
    ),
  }).map(([what, bytes]): [string, Buffer, number] => [
    `${what} on a stream that has ended, without end`,
    Buffer.concat([answer(1), bytes]),
    11,
  ]),
]

t.test('a link ends with its requests when the cell sends', async t => {
  for (const [what, bytes, code] of ENDS_THE_SESSION)
    t.test(what, async t => {
      const cell = await greetedCell(t)
      const { end, stream } = openRequest(cell.link, GET)
      await cell.next(FRAME.headers)
      cell.send(bytes)
      await cell.isDown
      await end
      const goAway = await cell.next(FRAME.goAway)
      t.equal(goAway?.payload.readUInt32BE(4), code)
      t.equal(cell.reasons.length, 1, 'the reason is logged')
      t.throws(() => openRequest(cell.link, GET), { code: 'cell_unavailable' })
      stream.cancel()
      stream.resume()
      await cell.closed
    })
})

/** Bytes sent while a request is open on stream 1, and the code with which that is reset. */
const ENDS_THE_STREAM: [what: string, bytes: Buffer, code: number][] = [
  ['data before the head', frame(FRAME.data, 0, 1, 'aa'), 1],
  ['a head without a status', head(1, field('a', 'b')), 1],
  ['a head that is empty', head(1, ''), 1],
  ['an invalid status', head(1, field(':status', 'ok!')), 1],
  ['two statuses', head(1, OK + OK), 1],
  ['upper case in a name', head(1, OK + field('A', 'b')), 1],
  ['a line end in a value', head(1, OK + field('a', 'b\r\nc: d')), 1],
  ['a connection-specific header', head(1, OK + field('connection', 'close')), 1],
  ['a long list in a short block', head(1, OK + '90'.repeat(1100)), 1],
  [
    'an interim head that ends the stream',
    head(1, field(':status', '100'), endHeaders | endStream),
    1,
  ],
  ['a change of protocol', head(1, field(':status', '101')), 1],
  ['a second head', Buffer.concat([head(1, OK), head(1, OK)]), 1],
  ['trailers that do not end', Buffer.concat([head(1, OK), head(1, field('a', 'b'))]), 1],
  ['trailers with a status', Buffer.concat([head(1, OK), head(1, OK, endHeaders | endStream)]), 1],
  [
    'malformed trailers',
    Buffer.concat([head(1, OK), head(1, field('A', 'b'), endHeaders | endStream)]),
    1,
  ],
  [
    'less than its content-length',
    Buffer.concat([
      head(1, OK + field('content-length', '3')),
      frame(FRAME.data, endStream, 1, 'aabb'),
    ]),
    1,
  ],
  [
    'more than its content-length',
    Buffer.concat([
      head(1, OK + field('content-length', '1')),
      frame(FRAME.data, endStream, 1, 'aabb'),
    ]),
    1,
  ],
  ['a window of the stream that is too large', frame(FRAME.windowUpdate, 0, 1, '7fffffff'), 3],
]

t.test('only one request ends when the cell sends', async t => {
  for (const [what, bytes, code] of ENDS_THE_STREAM)
    t.test(what, async t => {
      const cell = await greetedCell(t)
      const { end } = openRequest(cell.link, GET)
      const other = collectAnswer(cell.link, GET)
      cell.send(bytes)
      const reset = await cell.next(FRAME.reset)
      t.match(reset, { id: 1, payload: uint32(code) })
      t.match(await end, { isWhole: false })
      cell.send(answer(3))
      t.match(await other, { isWhole: true, status: 200 })
    })
  for (const code of [0, 2, 5, 7, 8, 0xffffffff])
    t.test(`a reset with the code ${code}`, async t => {
      const cell = await greetedCell(t)
      const { end } = openRequest(cell.link, GET)
      const other = collectAnswer(cell.link, GET)
      cell.send(head(1, OK), frame(FRAME.reset, 0, 1, uint32(code)), answer(3))
      t.match(await end, { isWhole: false, status: 200 })
      t.match(await other, { isWhole: true })
      t.notOk(
        cell.heard.some(({ type }) => type === FRAME.reset),
        'a reset is not answered',
      )
    })
  t.test('more than the window of the stream', async t => {
    const cell = await greetedCell(t)
    const { end, stream } = openRequest(cell.link, GET)
    stream.pause()
    const full = frame(FRAME.data, 0, 1, Buffer.alloc(16_383))
    cell.send(head(1, OK), times(4, full), frame(FRAME.data, 0, 1, '00000000'))
    t.match(await cell.next(FRAME.reset), { id: 1, payload: uint32(3) })
    t.match(await end, { isWhole: false })
  })
})

t.test('frames on a stream that has ended are ignored', async t => {
  const cell = await greetedCell(t)
  t.match(await Promise.all([collectAnswer(cell.link, GET), cell.send(answer(1))]), [
    { isWhole: true },
    true,
  ])
  const cancelled = openRequest(cell.link, GET)
  cancelled.stream.cancel()
  t.match(await cancelled.end, { isWhole: false })
  for (const id of [1, 3])
    cell.send(
      head(id, OK),
      head(id, 'ff'),
      frame(FRAME.data, endStream, id, 'aa'),
      frame(FRAME.windowUpdate, 0, id, uint32(1)),
      frame(FRAME.reset, 0, id, uint32(8)),
      frame(FRAME.priority, 0, id, '0000000000'),
    )
  cell.send(answer(5))
  t.match(await collectAnswer(cell.link, GET), { isWhole: true })
})

t.test('resets and heads of many requests that have ended do not count as a flood', async t => {
  const cell = await greetedCell(t)
  for (let id = 1; id < 30_000; id += 2) {
    openRequest(cell.link, GET)
    cell.send(answer(id), frame(FRAME.reset, 0, id, uint32(0)), head(id, OK))
    if (id % 100 === 1) await new Promise(resolve => setImmediate(resolve))
  }
  const last = collectAnswer(cell.link, GET)
  cell.send(answer(30_001))
  t.match(await last, { isWhole: true })
})

t.test('a cell that streams a token a frame on every stream is never cut', async t => {
  const cell = await greetedCell(t)
  const ids = Array.from({ length: 256 }, (_, n) => 2 * n + 1)
  const answers = ids.map(() => collectAnswer(cell.link, GET))
  cell.send(...ids.map(id => head(id, OK)))
  const token = Buffer.alloc(20, 'x')
  // 100,000 frames between two beats, 40 widened windows among them, and many in one piece
  for (let round = 0; round < 400; round++) {
    cell.send(...ids.map(id => frame(FRAME.data, 0, id, token)))
    if (round % 10 === 0) cell.send(WIDER(0))
    await new Promise(resolve => setImmediate(resolve))
  }
  cell.send(...ids.map(id => frame(FRAME.data, endStream, id)))
  for (const { isWhole, bytes } of await Promise.all(answers))
    t.match({ isWhole, length: bytes.length }, { isWhole: true, length: 8000 })
  t.strictSame(cell.reasons, [])
})

t.test(
  'what a cell sent before it learnt of many cancellations does not count as a flood',
  async t => {
    const cell = await greetedCell(t)
    const ids = Array.from({ length: 256 }, (_, n) => 2 * n + 1)
    for (const _ of ids) openRequest(cell.link, GET).stream.cancel()
    // the whole window of each stream: 83,000 frames
    const token = Buffer.alloc(200)
    for (const id of ids) cell.send(head(id, OK), times(327, frame(FRAME.data, 0, id, token)))
    cell.send(answer(513))
    t.match(await collectAnswer(cell.link, GET), { isWhole: true })
  },
)

t.test('frames on a cancelled stream count as a flood once its window is used up', async t => {
  const cell = await greetedCell(t)
  openRequest(cell.link, GET).stream.cancel()
  cell.send(head(1, OK), times(10_000, frame(FRAME.data, 0, 1, Buffer.alloc(200))))
  t.match(await cell.next(FRAME.goAway), { payload: Buffer.concat([uint32(0), uint32(11)]) })
})

t.test('a large body that a cell accepts in small steps does not count as a flood', async t => {
  const STEP = 4096
  const cell = await greetedCell(t, { settings: [setting(4, STEP)] })
  const body = Buffer.alloc(48 * 1024 * 1024)
  const upload = collectAnswer(cell.link, { method: 'POST', path: '/', body })
  let left = body.length
  while (left > 0) {
    const received = await cell.next(FRAME.data)
    const length = received?.payload.length ?? left
    left -= length
    if (length > 0)
      cell.send(
        frame(FRAME.windowUpdate, 0, 0, uint32(length)),
        frame(FRAME.windowUpdate, 0, 1, uint32(length)),
      )
  }
  cell.send(answer(1))
  t.match(await upload, { isWhole: true })
})
