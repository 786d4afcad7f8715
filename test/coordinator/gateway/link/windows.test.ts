import t from 'tap'
import { FLAG, FRAME } from '../../../../coordinator/gateway/link/frames.ts'
import { collectAnswer, openRequest } from '../../../support/link-requests.ts'
import { answer, frame, greetedCell, OK, setting, settings, uint32 } from './raw-cell.ts'

const GET = { method: 'GET', path: '/' } as const
const { endHeaders, endStream } = FLAG
const post = (text: string) => ({ method: 'POST', path: '/', body: Buffer.from(text) }) as const
const WINDOW = 4

t.test('a body is sent within the windows of the cell', async t => {
  const cell = await greetedCell(t, { settings: [setting(WINDOW, 10)] })
  const nextData = async (id: number) => {
    const data = await cell.next(FRAME.data)
    t.equal(data?.id, id)
    return `${data?.payload}${data?.flags === endStream ? '|' : ''}`
  }
  const answered = collectAnswer(cell.link, post('0123456789abcdefghij'))
  t.equal(await nextData(1), '0123456789')
  cell.send(frame(FRAME.windowUpdate, 0, 1, uint32(2)))
  t.equal(await nextData(1), 'ab')
  cell.send(settings(setting(WINDOW, 5)), frame(FRAME.windowUpdate, 0, 1, uint32(6)))
  t.equal(await nextData(1), 'c', 'the window was five bytes in debt')
  cell.send(settings(setting(WINDOW, 8)))
  t.equal(await nextData(1), 'def')
  cell.send(frame(FRAME.windowUpdate, 0, 1, uint32(100)))
  t.equal(await nextData(1), 'ghij|')
  cell.send(answer(1))
  t.match(await answered, { isWhole: true })
  openRequest(cell.link, post('0123456789'))
  t.equal(await nextData(3), '01234567', 'a new stream has the new window')
})

t.test('settings are acknowledged before any frame that relies on them', async t => {
  const cell = await greetedCell(t, { settings: [setting(WINDOW, 1)] })
  openRequest(cell.link, post('0123'))
  await cell.next(FRAME.data)
  cell.heard.splice(0)
  cell.send(settings(setting(WINDOW, 100)))
  await cell.next(FRAME.data)
  t.match(cell.heard, [{ type: FRAME.settings, flags: FLAG.ack }])
})

t.test('streams take turns at the window of the session', async t => {
  const cell = await greetedCell(t, { settings: [setting(WINDOW, 1_000_000)] })
  const body = Buffer.alloc(100_000)
  openRequest(cell.link, { method: 'POST', path: '/', body })
  openRequest(cell.link, { method: 'POST', path: '/', body })
  const readFrames = async (bytes: number) => {
    const all: [number, number][] = []
    for (let left = bytes; left > 0; ) {
      const { id = 0, payload } = (await cell.next(FRAME.data)) ?? {}
      all.push([id, payload?.length ?? left])
      left -= payload?.length ?? left
    }
    return all
  }
  t.strictSame(await readFrames(65_535), [
    [1, 16_384],
    [1, 16_384],
    [1, 16_384],
    [1, 16_383],
  ])
  cell.send(frame(FRAME.windowUpdate, 0, 0, uint32(60_000)))
  t.strictSame(await readFrames(60_000), [
    [1, 16_384],
    [3, 16_384],
    [1, 16_384],
    [3, 10_848],
  ])
})

t.test('a half-used window is refilled, for the stream and for the session', async t => {
  const cell = await greetedCell(t)
  await cell.next(FRAME.windowUpdate)
  const { stream, read } = openRequest(cell.link, GET)
  const piece = frame(FRAME.data, 0, 1, Buffer.alloc(16_384))
  cell.send(frame(FRAME.headers, endHeaders, 1, OK), piece, piece)
  t.match(await cell.next(FRAME.windowUpdate), { id: 1, payload: uint32(32_768) })
  stream.pause()
  cell.send(piece, piece, frame(FRAME.ping, 0, 0, '00'.repeat(8)))
  await cell.next(FRAME.ping)
  await cell.next(FRAME.ping)
  t.equal(read(), 65_536, 'what the window allows still arrives')
  t.notOk(cell.heard.some(({ type }) => type === FRAME.windowUpdate))
  stream.resume()
  t.match(await cell.next(FRAME.windowUpdate), { id: 1, payload: uint32(32_768) })
  const half = 32 * 1024 * 1024
  const updates = async () => {
    const update = await cell.next(FRAME.windowUpdate)
    return update?.id === 0 ? update.payload.readUInt32BE() : 0
  }
  let forAll = 0
  for (let sent = 4 * 16_384; sent < half; sent += 32_768) {
    cell.send(piece, piece)
    forAll += await updates()
  }
  t.equal(forAll, half)
})
