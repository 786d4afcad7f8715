import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { FLAG, FRAME } from '../../../coordinator/gateway/link/frames.ts'
import {
  answer as answerFrame,
  field,
  frame,
  greetedCell,
  OK,
} from '../../coordinator/gateway/link/raw-cell.ts'
import { endWithUsage, USAGE } from '../../support/cell.ts'
import { collectAnswer, openRequest } from '../../support/link-requests.ts'
import { cellWith, echoStream, echoWhole, GET, type OpenLink } from './rig.ts'

const carryAnswers = (t: Test, open: OpenLink): void => {
  t.test('a request as it was sent and its answer unchanged', async t => {
    const { link } = await cellWith(t, open, echoWhole)
    const body = Buffer.from('{"ä":1}')
    const headers = {
      'content-type': 'application/json',
      'x-request-id': 'r',
      n: 7,
      none: undefined,
    }
    for (let i = 0; i < 3; i++) {
      const answer = await collectAnswer(link, {
        method: 'POST',
        path: '/v1/x?y=z',
        headers,
        body,
      })
      t.match(answer, { status: 200, isWhole: true, text: '{"ä":1}' })
      t.strictSame(answer.trailers?.['x-shoal-usage'], JSON.stringify(USAGE))
      const pseudo = { ':method': 'POST', ':path': '/v1/x?y=z', ':scheme': 'http' }
      const fields = { 'content-type': 'application/json', 'x-request-id': 'r', n: '7' }
      const received = ['POST', '/v1/x?y=z', { ...pseudo, ':authority': 'cell', ...fields }]
      t.strictSame(JSON.parse(answer.headers['x-request'] ?? ''), received)
    }
    t.match(await collectAnswer(link, GET), { status: 200, isWhole: true, text: '' })
  })

  t.test('an answer in order, and none of it before request() has returned', async t => {
    const { link } = await cellWith(t, open, (_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' })
      response.setHeader('set-cookie', ['a=1', 'b=2'])
      response.write('one', () => endWithUsage(response))
    })
    const calls: string[] = []
    const listener = {
      onHead: (status: number, headers: object) =>
        calls.push(`head ${status}`, ...Object.keys(headers)),
      onData: () => calls.push('data'),
      onTrailers: () => calls.push('trailers'),
      onClose: (isWhole: boolean) => calls.push(`closed ${isWhole}`),
    }
    const { end } = openRequest(link, GET, listener as never)
    calls.push('returned')
    const { headers } = await end
    t.equal(headers['set-cookie'], 'a=1, b=2')
    t.strictSame(
      calls.filter(call => call !== 'date'),
      ['returned', 'head 200', 'set-cookie', 'data', 'trailers', 'closed true'],
    )
  })

  t.test('simultaneous answers to many requests', async t => {
    const { link } = await cellWith(t, open, echoWhole)
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        collectAnswer(link, { method: 'POST', path: `/${i}`, body: Buffer.from(`${i}`) }),
      ),
    )
    t.ok(answers.every(({ text, isWhole }, i) => isWhole && text === `${i}`))
  })

  t.test('bodies larger than every window, in both directions and several at once', async t => {
    const { link } = await cellWith(t, open, echoStream)
    const bodies = Array.from({ length: 3 }, () => randomBytes(4 * 1024 * 1024 + 7))
    const answers = await Promise.all(
      bodies.map(body => collectAnswer(link, { method: 'POST', path: '/', body })),
    )
    const isEchoed = answers.map(({ bytes, isWhole, trailers }, i) => {
      return isWhole && trailers !== undefined && bytes.equals(bodies[i] ?? Buffer.alloc(0))
    })
    t.strictSame(isEchoed, [true, true, true])
  })
}

const carryHeads = (t: Test, open: OpenLink): void => {
  t.test('every character that a header may contain', async t => {
    const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
      character => /[\t\x20-\x7e\x80-\xff]/.test(character),
    )
    // alone and among others: the server uses the Huffman code only where it is shorter
    const values = characters.flatMap(character => [
      `a${character}a`,
      `${'a'.repeat(40)}${character}${'o'.repeat(40)}${character}e`,
    ])
    const { link } = await cellWith(t, open, (request, response) => {
      response.setHeader('x-value', values[Number(request.url?.slice(1))] ?? '')
      response.end()
    })
    const answers = await Promise.all(
      values.map((_, i) => collectAnswer(link, { method: 'GET', path: `/${i}` })),
    )
    t.strictSame(
      answers.map(({ headers }) => headers['x-value']),
      values,
    )
  })

  t.test('heads with many fields and of 30 KB', async t => {
    const heads: Record<string, string>[] = [
      {},
      { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
      { 'x-long': 'x{|}~'.repeat(6000) },
      Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x-header-${i}`, `value ${i}`])),
    ]
    const { link } = await cellWith(t, open, (request, response) => {
      response.writeHead(207, heads[Number(request.url?.slice(1))])
      response.end()
    })
    for (const [i, head] of [...heads, ...heads].entries()) {
      const answer = await collectAnswer(link, { method: 'GET', path: `/${i % 4}` })
      t.match(answer, { status: 207, isWhole: true, headers: head })
    }
  })

  t.test('a request head of 40 KB, and refuses one of more than 64 KiB', async t => {
    const { link } = await cellWith(t, open, echoWhole)
    const long = 'x'.repeat(40_000)
    const { headers } = await collectAnswer(link, { ...GET, headers: { long } })
    t.equal(JSON.parse(headers['x-request'] ?? '[]')[2].long, long)
    t.throws(() => openRequest(link, { ...GET, headers: { long: 'x'.repeat(70_000) } }), {
      code: 'headers_too_large',
    })
    t.match(await collectAnswer(link, GET), { isWhole: true }, 'the link goes on')
  })

  t.test('no answer with a head larger than 64 KiB, and continues', async t => {
    const cell = await greetedCell(t, { open })
    const answer = collectAnswer(cell.link, GET)
    await cell.next(FRAME.headers)
    const fields = Array.from({ length: 520 }, (_, i) => field(`x-${100 + i}`, 'x'.repeat(90)))
    const first = fields.splice(0, 150).join('')
    cell.send(
      frame(FRAME.headers, FLAG.endStream, 1, OK + first),
      ...[150, 150].map(count => frame(FRAME.continuation, 0, 1, fields.splice(0, count).join(''))),
      frame(FRAME.continuation, FLAG.endHeaders, 1, fields.join('')),
    )
    t.match(await answer, { isWhole: false, status: 0 })
    const next = collectAnswer(cell.link, GET)
    cell.send(answerFrame(3))
    t.match(await next, { isWhole: true })
  })
}

/** What a link carries: heads, bodies and trailers, whatever their size and number. */
export const answersContract = (name: string, open: OpenLink): void => {
  t.test(`a link by ${name} carries`, async t => {
    carryAnswers(t, open)
    carryHeads(t, open)
  })
}
