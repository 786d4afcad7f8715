import { randomBytes } from 'node:crypto'
import { constants, type Http2Session } from 'node:http2'
import t, { type Test } from 'tap'
import { endWithUsage } from '../../support/cell.ts'
import { collectAnswer, openRequest } from '../../support/link-requests.ts'
import { cellWith, echoStream, flood, GET, type OpenLink } from './rig.ts'

const holdStreamsBack = (t: Test, open: OpenLink): void => {
  t.test('a paused stream holds back its cell and no other stream', async t => {
    const total = 1024 * 1024
    const written = new Map<string, number>()
    const { link } = await cellWith(t, open, ({ url }, response) =>
      flood(response, total, bytes => written.set(url, (written.get(url) ?? 0) + bytes)),
    )
    const paused = Array.from({ length: 10 }, (_, i) => {
      const request = openRequest(link, { method: 'GET', path: `/paused/${i}` })
      request.stream.pause()
      return request
    })
    t.match(await collectAnswer(link, { method: 'GET', path: '/other' }), { isWhole: true })
    t.ok(Math.max(...paused.map(({ read }) => read())) <= 65_535, 'at most a window was read')
    const most = Math.max(...paused.map((_, i) => written.get(`/paused/${i}`) ?? 0))
    t.ok(most < total / 4, `the cell has written ${most} bytes`)
    for (const { stream } of paused) stream.resume()
    const answers = await Promise.all(paused.map(({ end }) => end))
    t.ok(answers.every(({ bytes, isWhole }) => isWhole && bytes.length === total))
  })

  t.test('an answer to a partly read request is complete', async t => {
    const codes: Promise<number>[] = []
    const { link } = await cellWith(t, open, ({ stream }, response) => {
      codes.push(new Promise(done => stream.on('close', () => done(stream.rstCode))))
      response.writeHead(413)
      response.end('too large')
    })
    const body = Buffer.alloc(8 * 1024 * 1024)
    const answer = await collectAnswer(link, { method: 'POST', path: '/', body })
    t.match(answer, { status: 413, text: 'too large', isWhole: true })
    t.equal(await codes[0], constants.NGHTTP2_NO_ERROR)
    t.match(await collectAnswer(link, GET), { status: 413, isWhole: true })
  })
}

const keepLimits = (t: Test, open: OpenLink): void => {
  t.test('settings of the cell apply from their arrival', async t => {
    const sessions = new Set<Http2Session | undefined>()
    const { link } = await cellWith(t, open, (request, response) => {
      sessions.add(request.stream.session)
      echoStream(request, response)
    })
    await collectAnswer(link, GET)
    const [session] = sessions
    for (const [bytes, settings] of [
      [3000, { initialWindowSize: 10 }],
      [300_000, { initialWindowSize: 5_000_000, maxFrameSize: 1_000_000 }],
      [300_000, { headerTableSize: 0, initialWindowSize: 70_000 }],
      [300_000, { maxConcurrentStreams: 1, headerTableSize: 8192 }],
    ] as const) {
      const body = randomBytes(bytes)
      const request = { method: 'POST', path: '/', body } as const
      const during = collectAnswer(link, request)
      session?.settings(settings)
      const later = during.then(() =>
        Promise.all([collectAnswer(link, request), collectAnswer(link, request)]),
      )
      const answers = [await during, ...(await later)]
      const isEchoed = answers.every(({ bytes, isWhole }) => isWhole && bytes.equals(body))
      t.ok(isEchoed, JSON.stringify(settings))
    }
  })

  t.test(
    "requests beyond the cell's limit wait, and one cancelled while waiting is not sent",
    async t => {
      const paths: string[] = []
      const limited = Promise.withResolvers<() => void>()
      const { link } = await cellWith(t, open, ({ url, stream }, response) => {
        paths.push(url)
        if (url === '/first')
          stream.session?.settings({ maxConcurrentStreams: 1 }, () =>
            limited.resolve(() => endWithUsage(response)),
          )
        else endWithUsage(response)
      })
      const first = openRequest(link, { method: 'GET', path: '/first' })
      const endFirst = await limited.promise
      const [second, third, fourth] = ['/second', '/third', '/fourth'].map(path =>
        openRequest(link, { method: 'POST', path, body: Buffer.from('body') }),
      )
      t.throws(() => openRequest(link, { ...GET, headers: { long: 'x'.repeat(70_000) } }), {
        code: 'headers_too_large',
      })
      second?.stream.cancel()
      t.match(await second?.end, { isWhole: false })
      endFirst()
      const answers = await Promise.all([first.end, third?.end, fourth?.end])
      t.match(answers, [{ isWhole: true }, { isWhole: true }, { isWhole: true }])
      t.strictSame(paths, ['/first', '/third', '/fourth'])
    },
  )
}

/** How a link holds streams back, and which limits of the cell it keeps. */
export const streamsContract = (name: string, open: OpenLink): void => {
  t.test(`a link by ${name} keeps streams independent`, async t => {
    holdStreamsBack(t, open)
    keepLimits(t, open)
  })
}
