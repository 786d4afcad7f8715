import { randomBytes } from 'node:crypto'
import { constants, type Http2ServerResponse, type Http2Session } from 'node:http2'
import t, { type Test } from 'tap'
import { type CellHandler, endWithUsage, linkCell, USAGE } from '../../support/cell.ts'
import { ask, open } from './asking.ts'

// the cells of these tests are servers of node:http2, as those of the fleet are

const cellWith = async (t: Test, handler: CellHandler) => {
  const cell = await linkCell('a', handler)
  t.teardown(() => cell.close())
  return cell
}

const bodyOf = async (request: AsyncIterable<Buffer>): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

const echo: CellHandler = async (request, response) => {
  const body = await bodyOf(request)
  response.setHeader('x-told', JSON.stringify([request.method, request.url, request.headers]))
  response.write(body)
  endWithUsage(response)
}

t.test('a request arrives as it was made, and its answer as it was given', async t => {
  const { link } = await cellWith(t, echo)
  const body = Buffer.from('{"ä":1}')
  const headers = { 'content-type': 'application/json', 'x-request-id': 'r', traceparent: '00-11' }
  for (let i = 0; i < 3; i++) {
    const answer = await ask(link, { method: 'POST', path: '/v1/x?y=z', headers, body })
    t.match(answer, { status: 200, isWhole: true, text: '{"ä":1}' })
    t.strictSame(answer.trailers?.['x-shoal-usage'], JSON.stringify(USAGE))
    const [method, url, told] = JSON.parse(answer.headers['x-told'] ?? '')
    t.strictSame([method, url], ['POST', '/v1/x?y=z'])
    const pseudo = { ':method': 'POST', ':path': '/v1/x?y=z', ':scheme': 'http' }
    t.strictSame(told, { ...pseudo, ':authority': 'cell', ...headers })
  }
  const empty = await ask(link, { method: 'GET', path: '/' })
  t.match(empty, { status: 200, isWhole: true, text: '' })
})

t.test('many at once get each their own answer', async t => {
  const { link } = await cellWith(t, echo)
  const answers = await Promise.all(
    Array.from({ length: 2000 }, (_, i) =>
      ask(link, { method: 'POST', path: `/${i}`, body: Buffer.from(`${i}`) }),
    ),
  )
  t.ok(answers.every(({ text, isWhole }, i) => isWhole && text === `${i}`))
})

t.test(
  'bodies larger than all windows arrive unchanged, both ways and several at once',
  async t => {
    const { link } = await cellWith(t, (request, response) => {
      request.pipe(response, { end: false })
      request.on('end', () => endWithUsage(response))
    })
    const bodies = Array.from({ length: 3 }, () => randomBytes(20 * 1024 * 1024 + 7))
    const answers = await Promise.all(
      bodies.map(body => ask(link, { method: 'POST', path: '/', body })),
    )
    for (const [i, { bytes, isWhole, trailers }] of answers.entries()) {
      t.ok(isWhole && trailers !== undefined)
      t.ok(bytes.equals(bodies[i] as Buffer))
    }
  },
)

t.test('every character that a header can have arrives, short or in the Huffman code', async t => {
  const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
    character => /[\t\x20-\x7e\x80-\xff]/.test(character),
  )
  // among others, since a code that is longer than the text is not used
  const values = characters.flatMap(character => [
    `a${character}a`,
    `${'a'.repeat(40)}${character}${'o'.repeat(40)}${character}e`,
  ])
  const { link } = await cellWith(t, (request, response) => {
    response.setHeader('x-value', values[Number(request.url?.slice(1))] ?? '')
    response.end()
  })
  for (const [i, value] of values.entries()) {
    const { headers } = await ask(link, { method: 'GET', path: `/${i}` })
    t.equal(headers['x-value'], value)
  }
})

t.test('heads of many kinds are read, also very long ones', async t => {
  const heads: Record<string, string>[] = [
    {},
    { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    { 'x-long': 'x{|}~'.repeat(6000) },
    Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x-header-${i}`, `value ${i}`])),
  ]
  const { link } = await cellWith(t, (request, response) => {
    response.writeHead(207, heads[Number(request.url?.slice(1))])
    response.end()
  })
  for (const [i, head] of [...heads, ...heads].entries()) {
    const { status, headers, isWhole } = await ask(link, { method: 'GET', path: `/${i % 4}` })
    t.match({ status, isWhole }, { status: 207, isWhole: true })
    t.match(headers, head)
  }
})

t.test(
  'a cancelled request is reset on the cell, at once and also when nothing was sent',
  async t => {
    const codes: Promise<number>[] = []
    const { link } = await cellWith(t, (request, response) => {
      codes.push(
        new Promise(done => request.stream.on('close', () => done(request.stream.rstCode))),
      )
      if (request.url === '/half') response.write('half')
      if (request.url === '/next') response.end()
    })
    const half = open(link, { method: 'GET', path: '/half' })
    await half.begun
    half.stream.cancel()
    half.stream.cancel()
    t.match(await half.end, { isWhole: false, text: 'half' })
    const never = open(link, { method: 'POST', path: '/never', body: Buffer.alloc(1_000_000) })
    never.stream.cancel()
    t.match(await never.end, { isWhole: false, status: 0 })
    t.match(await ask(link, { method: 'GET', path: '/next' }), { isWhole: true })
    t.equal(await codes[0], constants.NGHTTP2_CANCEL)
  },
)

t.test('an answer that is reset by the cell is cut', async t => {
  for (const code of [0, 2, 7, 8]) {
    const { link } = await cellWith(t, (request, response) => {
      response.write('half', () => request.stream.close(code))
    })
    t.match(await ask(link, { method: 'GET', path: '/' }), { isWhole: false })
  }
})

t.test('a stream that is paused holds back its cell and no other stream', async t => {
  const total = 4 * 1024 * 1024
  const written = new Map<string, number>()
  const flood = (url: string, response: Http2ServerResponse): void => {
    const so = written.get(url) ?? 0
    written.set(url, so + 16_384)
    if (so >= total) endWithUsage(response)
    else response.write(Buffer.alloc(16_384), () => flood(url, response))
  }
  const { link } = await cellWith(t, (request, response) => flood(request.url, response))
  const paused = Array.from({ length: 10 }, (_, i) => {
    const asked = open(link, { method: 'GET', path: `/paused/${i}` })
    asked.stream.pause()
    return asked
  })
  t.match(await ask(link, { method: 'GET', path: '/other' }), { isWhole: true })
  for (const [i, { read }] of paused.entries()) {
    t.ok(read() <= 65_535, `${read()} bytes of one that is paused`)
    t.ok((written.get(`/paused/${i}`) ?? 0) < total / 4)
  }
  for (const { stream } of paused) stream.resume()
  for (const { end } of paused) {
    const { bytes, isWhole } = await end
    t.ok(isWhole && bytes.length === total)
  }
})

t.test('settings of the cell hold as soon as they are told', async t => {
  const sessions = new Set<Http2Session | undefined>()
  const { link } = await cellWith(t, (request, response) => {
    sessions.add(request.stream.session)
    request.pipe(response, { end: false })
    request.on('end', () => endWithUsage(response))
  })
  const body = randomBytes(300_000)
  const request = { method: 'POST', path: '/', body } as const
  await ask(link, request)
  const [session] = sessions
  for (const settings of [
    { initialWindowSize: 10 },
    { initialWindowSize: 5_000_000, maxFrameSize: 1_000_000 },
    { headerTableSize: 0, initialWindowSize: 70_000 },
    { maxConcurrentStreams: 1, headerTableSize: 8192 },
  ]) {
    const during = ask(link, request)
    session?.settings(settings)
    const later = during.then(() => Promise.all([ask(link, request), ask(link, request)]))
    for (const answer of [await during, ...(await later)]) {
      const { bytes, isWhole } = answer
      t.ok(isWhole && bytes.equals(body), JSON.stringify(settings))
    }
  }
})

t.test('an answer to a request of which not all was read is whole', async t => {
  const { link } = await cellWith(t, (_request, response) => {
    response.writeHead(413)
    response.end('too large')
  })
  const body = Buffer.alloc(8 * 1024 * 1024)
  t.match(await ask(link, { method: 'POST', path: '/', body }), {
    ...{ status: 413, text: 'too large', isWhole: true },
  })
  t.match(await ask(link, { method: 'GET', path: '/' }), { status: 413, isWhole: true })
})

t.test('a cell that leaves in order ends the answers that it has begun', async t => {
  const held = Promise.withResolvers<Http2ServerResponse>()
  const { link, isDown } = await cellWith(t, (request, response) => {
    response.write('half')
    held.resolve(response)
    request.stream.session?.close()
  })
  const answered = ask(link, { method: 'GET', path: '/' })
  const response = await held.promise
  await isDown
  t.throws(() => open(link, { method: 'GET', path: '/' }), { code: 'cell_unavailable' })
  endWithUsage(response)
  t.match(await answered, { isWhole: true, text: 'half', trailers: {} })
})
