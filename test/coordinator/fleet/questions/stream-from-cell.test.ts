import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { askCell, type CellQuestion } from '../../../../coordinator/fleet/questions/ask-cell.ts'
import { streamFromCell } from '../../../../coordinator/fleet/questions/stream-from-cell.ts'
import type { Helper } from '../../../../daemon/helper/helper.ts'
import { createSpawner } from '../../../../daemon/helper/helper-child.ts'
import { HelperFailure } from '../../../../daemon/helper/helper-failure.ts'
import { Helpers } from '../../../../daemon/helper/helpers.ts'
import type { HelperCall } from '../../../../daemon/helper/job.ts'
import { WINDOW_BYTES } from '../../../../daemon/helper/protocol.ts'
import { createHostProbes } from '../../../../daemon/probes/host-probes.ts'
import { createHostQuestion } from '../../../../daemon/probes/host-question.ts'
import type { Question } from '../../../../daemon/questions/question.ts'
import { withQuestions } from '../../../../daemon/questions/with-questions.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { type CellHandler, linkCell } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const MAX_WAITING_LINE_BYTES = 256 * 1024

const CHILD = resolve(import.meta.dirname, '..', '..', '..', 'support', 'helper-child.ts')

const callOf = (name: string, input: unknown): HelperCall => ({
  module: 'test',
  function: name,
  input,
  deadlineSeconds: 60,
})

/** Functions of a helper process as a question. */
const testQuestion = (helper: Helper): Question => ({
  prefix: '/test/',
  async *ask(name, input, signal) {
    if (name === 'refused') throw new ShoalError('invalid_request', 'not this')
    if (name === 'unknown') throw new ShoalError('not_found', 'no such name')
    try {
      yield* helper.stream(callOf(name, input), signal)
    } catch (error) {
      throw error instanceof HelperFailure ? new ShoalError('internal', error.message) : error
    }
  },
})

const engines: CellHandler = (_request, response) => {
  response.statusCode = 404
  response.end('{"error":{"message":"there is nothing","code":"not_found"}}')
}

/** A fleet of one cell on a real link, with the daemon's own handlers over real helper processes. */
const rig = async (t: Test, handler?: CellHandler) => {
  const helpers = new Helpers({ spawn: createSpawner(process.env, CHILD) })
  const probes = new Helpers({ spawn: createSpawner(process.env) })
  const config = { enabled: true, allowed_targets: [] }
  const host = createHostQuestion(createHostProbes({ helpers: probes, config, now: Date.now }))
  const helper = helpers.get('lan')
  const handle = withQuestions([testQuestion(helper), host], engines as never)
  const linked = await linkCell('near', handler ?? handle)
  t.teardown(async () => {
    helpers.stop()
    probes.stop()
    await linked.close()
  })
  const cell = (id: string) =>
    id === 'near' ? { ...newCell('near', 1), link: linked.link } : undefined
  const question = (path: string, body?: object): CellQuestion => ({
    path,
    ...(body && { body }),
    what: 'the test',
    maxBytes: 64 * 1024 * 1024,
    maxSeconds: 60,
  })
  const stream = (path: string, body: object = {}, signal = new AbortController().signal) =>
    streamFromCell({ cell }, 'near', question(path, body), signal)
  return { helper, cell, question, stream, linked }
}

const readAll = async (events: AsyncIterable<unknown>): Promise<unknown[]> => {
  const read: unknown[] = []
  for await (const event of events) read.push(event)
  return read
}

t.test('10,000 items pass through a cell and its helper at the pace of a slow reader', async t => {
  const { helper, stream } = await rig(t)
  const events = stream('/test/items', { count: 10_000 })
  const read: unknown[] = [(await events.next()).value]
  const countProduced = async () => Number(await helper.call(callOf('produced', null)))
  let before = -1
  for (let now = await countProduced(); now > before; now = await countProduced()) {
    before = now
    await helper.call(callOf('slowEcho', null))
  }
  // windows of the reader, of the link and of the helper, and what sockets hold between them
  t.ok(
    before < (MAX_WAITING_LINE_BYTES + WINDOW_BYTES + 512 * 1024) / 1000,
    `${before} were produced`,
  )
  for await (const event of events) read.push(event)
  t.strictSame(
    read.map(event => (event as { value: { n: number } }).value.n),
    Array.from({ length: 10_000 }, (_, n) => n),
  )
})

t.test('a reader that disconnects ends the function on the cell', async t => {
  const { helper, stream } = await rig(t)
  const countCleanups = () => helper.call(callOf('cleanedUp', null))
  for await (const event of stream('/test/items', { count: 10_000 })) {
    t.match(event, { type: 'item', value: { n: 0 } })
    break
  }
  await waitUntil('the helper cleans up', async () => (await countCleanups()) === 1)
  const controller = new AbortController()
  const events = stream('/test/untilCancelled', {}, controller.signal)
  await events.next()
  const next = events.next()
  controller.abort()
  await t.rejects(next, { code: 'cell_unavailable' })
  await waitUntil('the helper cleans up again', async () => (await countCleanups()) === 2)
})

t.test('a severed link ends the function on the cell and the stream', async t => {
  const { helper, stream, linked } = await rig(t)
  const events = stream('/test/untilCancelled')
  await events.next()
  linked.cut()
  await t.rejects(events.next(), { code: 'cell_unavailable' })
  const isClean = async () => (await helper.call(callOf('cleanedUp', null))) === 1
  await waitUntil('the helper cleans up', isClean)
})

t.test(
  'items and progress arrive as the function sends them; a GET returns the only item',
  async t => {
    const { cell, question, stream } = await rig(t)
    const events = await readAll(stream('/test/progress'))
    t.match(events[0], { type: 'progress', progress: { done: 0, total: 1000 } })
    t.match(events.at(-1), { type: 'item', value: 'end' })
    t.same(await readAll(stream('/test/echo', { a: [1] })), [{ type: 'item', value: { a: [1] } }])
    const { signal } = new AbortController()
    const input = encodeURIComponent('{"a":1}')
    t.strictSame(await askCell({ cell }, 'near', question(`/test/echo?input=${input}`), signal), {
      status: 200,
      text: '{"a":1}',
    })
  },
)

t.test('host probes also accept a POST', async t => {
  const { stream } = await rig(t)
  const [event, ...more] = await readAll(stream('/host/time'))
  t.match(event, { type: 'item', value: { available: true, data: { uptime: Number } } })
  t.strictSame(more, [])
  await t.rejects(readAll(stream('/host/time', { a: 1 })), { code: 'invalid_request' })
})

t.test('a refusal and a failure of a cell are reported separately', async t => {
  const { cell, question, stream } = await rig(t)
  const outcomes = await Promise.allSettled([
    readAll(stream('/test/refused')),
    readAll(stream('/test/unknown')),
    readAll(stream('/elsewhere/x')),
    readAll(stream('/test/failLater')),
    readAll(stream('/test/echo', { text: 'x'.repeat(300 * 1024) })),
  ])
  t.match(outcomes, [
    {
      reason: { code: 'invalid_request', message: /refused the input of the test: not this/ },
    },
    { reason: { code: 'cell_unavailable', message: /is too old for the test/ } },
    { reason: { code: 'cell_unavailable', message: /is too old for the test/ } },
    { reason: { code: 'cell_unavailable', message: /failed at the test: it broke/ } },
    { reason: { code: 'cell_unavailable', message: /the body is larger/ } },
  ])
  const limits = [{ maxBytes: 5000 }, { maxSeconds: 0 }]
  const { signal } = new AbortController()
  const limited = limits.map(limit =>
    readAll(
      streamFromCell(
        { cell },
        'near',
        { ...question('/test/items', { count: 100 }), ...limit },
        signal,
      ),
    ),
  )
  t.match(await Promise.allSettled(limited), [
    { reason: { code: 'cell_unavailable', message: /more than 5000 bytes/ } },
    { reason: { code: 'cell_unavailable', message: /not within 0 s/ } },
  ])
})

t.test('any malformed answer of a cell is reported as cell_unavailable', async t => {
  const answers: Record<string, CellHandler> = {
    'no JSON': (_request, response) => response.end('{\n'),
    'another form': (_request, response) => response.end('{"type":"what"}\n'),
    'no end': (_request, response) => response.end('{"type":"item","value":1}\n'),
    nothing: (_request, response) => response.end(),
    'a line without an end': (_request, response) => response.end('x'.repeat(2 * 1024 * 1024)),
    'a failure': (_request, response) => {
      response.statusCode = 500
      response.end()
    },
    'a cut': (_request, response) => response.stream.destroy(),
  }
  const outcomes = Object.values(answers).map(async handler => {
    const { stream } = await rig(t, handler)
    return readAll(stream('/test/echo')).then(
      () => 'answered',
      ({ code }) => code,
    )
  })
  t.strictSame(
    await Promise.all(outcomes),
    Object.keys(answers).map(() => 'cell_unavailable'),
  )
})
