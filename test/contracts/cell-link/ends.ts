import { constants, type Http2ServerResponse } from 'node:http2'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { FLAG, FRAME } from '../../../coordinator/gateway/link/frames.ts'
import { frame, greetedCell, rawCell, uint32 } from '../../coordinator/gateway/link/raw-cell.ts'
import { type CellHandler, endWithUsage, type LinkedCell } from '../../support/cell.ts'
import { collectAnswer, type OpenRequest, openRequest } from '../../support/link-requests.ts'
import { cellWith, flood, GET, type OpenLink } from './rig.ts'

interface Phase {
  title: string
  path: string
  /** Resolves when the request is in this phase. */
  reached: (request: OpenRequest, arrived: Promise<void>) => Promise<void> | undefined
  body?: Buffer
}

const PHASES: Phase[] = [
  { title: 'before it was sent', path: '/waits', reached: () => undefined },
  {
    title: 'while its body is sent',
    path: '/waits',
    body: Buffer.alloc(1_000_000),
    reached: (_request, arrived) => arrived,
  },
  { title: 'before its head', path: '/waits', reached: (_request, arrived) => arrived },
  { title: 'within its body', path: '/half', reached: ({ begun }) => begun },
  {
    title: 'while it is paused',
    path: '/flood',
    reached: ({ stream, begun }) => begun.then(() => stream.pause()),
  },
]

const cancelRequests = (t: Test, open: OpenLink): void => {
  for (const { title, path, reached, body } of PHASES)
    t.test(`a request cancelled ${title} ends at once and is reset on the cell`, async t => {
      const arrived = Promise.withResolvers<void>()
      const reset = Promise.withResolvers<number>()
      const { link } = await cellWith(t, open, ({ url, stream }, response) => {
        if (url === '/') return endWithUsage(response)
        stream.on('close', () => reset.resolve(stream.rstCode))
        arrived.resolve()
        if (url === '/half') response.write('half')
        if (url === '/flood') flood(response, 1_000_000)
      })
      const ends: boolean[] = []
      const noteEnd = (isWhole: boolean) => void ends.push(isWhole)
      const request = openRequest(link, { method: 'POST', path, body }, { onClose: noteEnd })
      const phase = reached(request, arrived.promise)
      if (phase !== undefined) await phase
      request.stream.cancel()
      t.strictSame(ends, [false], 'its listener has heard the end')
      request.stream.cancel()
      request.stream.resume()
      t.match(await collectAnswer(link, GET), { isWhole: true }, 'the link goes on')
      if (phase !== undefined) t.equal(await reset.promise, constants.NGHTTP2_CANCEL)
      t.strictSame(ends, [false])
    })

  t.test('a request cancelled after its end stays complete', async t => {
    const { link } = await cellWith(t, open, (_request, response) => endWithUsage(response))
    const { stream, end } = openRequest(link, GET)
    await end
    stream.cancel()
    t.match(await end, { isWhole: true })
    t.match(await collectAnswer(link, GET), { isWhole: true })
  })
}

const cutAnswers = (t: Test, open: OpenLink): void => {
  // not with code 0: node:http2 reports such a reset as the end of the answer
  t.test('an answer that the cell resets is truncated', async t => {
    const codes = [2, 7, 8]
    const { link } = await cellWith(t, open, ({ url, stream }, response) => {
      response.write('half', () => stream.close(Number(url.slice(1))))
    })
    const answers = codes.map(code => collectAnswer(link, { method: 'GET', path: `/${code}` }))
    t.strictSame(
      (await Promise.all(answers)).map(({ isWhole }) => isWhole),
      [false, false, false],
    )
  })

  t.test('a cell that shuts down in order completes the answers it has begun', async t => {
    const held = Promise.withResolvers<Http2ServerResponse>()
    const { link, isDown } = await cellWith(t, open, (request, response) => {
      response.write('half')
      held.resolve(response)
      request.stream.session?.close()
    })
    const answer = collectAnswer(link, GET)
    const response = await held.promise
    await isDown
    t.throws(() => openRequest(link, GET), { code: 'cell_unavailable' })
    endWithUsage(response)
    t.match(await answer, { isWhole: true, text: 'half', trailers: {} })
  })

  const gone: [title: string, end: (cell: LinkedCell) => void, pingEveryMs: number][] = [
    ['whose cell is gone', cell => cell.cut(), 60_000],
    ['whose wire lets nothing through', cell => cell.freeze(), 500],
    ['that was closed', ({ link }) => link.close(), 60_000],
  ]
  for (const [title, end, pingEveryMs] of gone)
    t.test(`a link ${title} is down, and its answers are truncated`, async t => {
      const answerHalf: CellHandler = (_request, response) => void response.write('half')
      const cell = await cellWith(t, open, answerHalf, pingEveryMs)
      const request = openRequest(cell.link, GET)
      const paused = openRequest(cell.link, GET)
      await Promise.all([request.begun, paused.begun])
      paused.stream.pause()
      end(cell)
      await cell.isDown
      t.match(await Promise.all([request.end, paused.end]), [
        { isWhole: false },
        { isWhole: false },
      ])
      t.throws(() => openRequest(cell.link, GET), { code: 'cell_unavailable' })
      cell.link.close()
    })

  t.test('a connection that ends in the middle of a frame ends the link', async t => {
    for (const bytes of [4, 9, 12]) {
      const cell = await greetedCell(t, { open })
      const answer = collectAnswer(cell.link, GET)
      await cell.next(FRAME.headers)
      cell.cell.end(frame(FRAME.data, 0, 1, 'aabbccdd').subarray(0, bytes))
      await cell.isDown
      t.match(await answer, { isWhole: false })
    }
  })
}

const greetCells = (t: Test, open: OpenLink): void => {
  t.test('a cell that begins with anything but settings is disconnected', async t => {
    for (const bytes of [
      frame(FRAME.settings, FLAG.ack, 0),
      frame(FRAME.ping, 0, 0, '00'.repeat(8)),
      frame(FRAME.windowUpdate, 0, 0, uint32(1)),
      Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
      Buffer.from('GET / HTTP/1.1\r\nHost: coordinator\r\n\r\n'),
    ]) {
      const cell = await rawCell(t, { open })
      cell.send(bytes)
      await cell.isDown
      t.equal(cell.reasons.length, 1, 'the reason is logged')
      await cell.closed
    }
  })

  t.test('a cell that sends nothing is disconnected after five seconds', async t => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const cell = await rawCell(t, { open })
    let isDown = false
    cell.isDown.then(() => {
      isDown = true
    })
    mock.timers.tick(4999)
    await cell.next(FRAME.settings)
    t.notOk(isDown)
    mock.timers.tick(1)
    await cell.isDown
  })

  t.test('a link measures its round-trip time', async t => {
    const { link } = await cellWith(t, open, (_request, response) => endWithUsage(response))
    t.equal(link.roundTripMs(), undefined)
    while (link.roundTripMs() === undefined) await collectAnswer(link, GET)
    t.ok((link.roundTripMs() ?? -1) >= 0)
  })
}

/** How requests and links end, whichever side ends them. */
export const endsContract = (name: string, open: OpenLink): void => {
  t.test(`a link by ${name} ends correctly`, async t => {
    cancelRequests(t, open)
    cutAnswers(t, open)
    greetCells(t, open)
  })
}
