import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import * as z from 'zod'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { PacedLines } from '../../../../coordinator/surfaces/http/paced-lines.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { type AnyJson, a2aScene, askUntil, caller } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { standing } from '../../../support/app.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY } from '../../kernel/store/temporary.ts'

const build = defineSkill({
  group: 'fleet',
  id: 'test-build',
  name: 'Building stream',
  description: 'Put stones on each other, and tell of each.',
  tags: ['test'],
  access: 'none',
  effect: 'write',
  mode: 'stream',
  input: z.strictObject({ stone: z.string() }),
  output: z.object({ height: z.int() }),
  run: ({ stone }, { progress }) => {
    if (stone === 'round') throw new ShoalError('conflict', 'it rolls away')
    progress({ done: built.push(stone) })
    return { height: built.length }
  },
})
const built: string[] = []
const defineFlood = (id: string, timeoutSeconds: number) =>
  defineSkill({
    group: 'fleet',
    id,
    name: 'Flooding stream',
    description: 'Report without an end, as fast as the reader takes it.',
    tags: ['test'],
    access: 'none',
    effect: 'read',
    mode: 'stream',
    timeoutSeconds,
    input: z.strictObject({ waits: z.boolean() }),
    output: z.object({ chunks: z.int() }),
    run: async ({ waits }, { progress, signal }) => {
      let chunks = 0
      for (; !signal.aborted && chunks < ENDLESS; chunks++) {
        const taken = progress({ message: CHUNK })
        await (waits ? taken : undefined)
        await turn()
      }
      flooded.resolve(chunks)
      return { chunks }
    },
  })
const flood = defineFlood('test-flood', 60)
const briefFlood = defineFlood('test-brief-flood', 0.5)
const CHUNK = 'x'.repeat(64 * 1024)
/** Size far above what sockets and the coordinator buffer: 128 MiB. */
const ENDLESS = 2048
let flooded = Promise.withResolvers<number>()
const largeResult = defineSkill({
  group: 'fleet',
  id: 'test-large-result',
  name: 'Large result',
  description: 'Report once, then answer with more than sockets buffer.',
  tags: ['test'],
  access: 'none',
  effect: 'read',
  mode: 'stream',
  input: z.strictObject({}),
  output: z.object({ text: z.string() }),
  run: (_input, { progress }) => {
    progress({ done: 1 })
    return { text: 'x'.repeat(32 * 1024 * 1024) }
  },
})
const lateReport = defineSkill({
  group: 'fleet',
  id: 'test-late-report',
  name: 'Late report',
  description: 'Report for the first time when the caller has disconnected.',
  tags: ['test'],
  access: 'none',
  effect: 'read',
  mode: 'stream',
  input: z.strictObject({}),
  output: z.object({}),
  run: async (_input, { progress, signal }) => {
    const isLeft = once(signal, 'abort')
    lateBegan.resolve()
    await isLeft
    await turn()
    await progress({ done: 1 })
    await turn()
    lateEnded.resolve()
    return {}
  },
})
const lateBegan = Promise.withResolvers<void>()
const lateEnded = Promise.withResolvers<void>()
let refunds = 0

const { skills, done, release } = testSkills()
const refund = () => void refunds++
const scene = await a2aScene(t, {
  moreSkills: [...skills, build, flood, briefFlood, largeResult, lateReport],
  given: { quota: { standing: () => standing, admit: () => ({ refund }) } },
})
t.teardown(release)
const { url, demo } = scene
const { json, raw, rpc } = caller(url, demo.operator)

t.test(
  'an operation that runs as a task returns its id, and the task is also one of A2A',
  async t => {
    const begun = await json('/v1/skills/test-slow', { steps: 2 })
    t.equal(begun.status, 202)
    const { task_id } = begun.json
    t.equal(begun.headers.get('location'), `/v1/tasks/${task_id}`)
    const isAtWork = ({ details }: AnyJson) => details?.progress?.done === 2
    const shown = await askUntil(async () => (await json(`/v1/tasks/${task_id}`)).json, isAtWork)
    t.match(shown, { state: 'working', operation: 'test-slow', result: null })
    t.equal((await rpc('GetTask', { id: task_id })).result.status.state, 'TASK_STATE_WORKING')
    const listed = await json('/v1/tasks?state=working')
    t.match(listed.json.tasks, [{ id: task_id }])
    const ended = await json(`/v1/tasks/${task_id}/cancel`, {})
    t.equal(ended.json.state, 'canceled')
    t.equal(done.at(-1), 'stopped')
    t.equal((await json(`/v1/tasks/${task_id}/cancel`, {})).json.state, 'canceled')
    t.equal((await json('/v1/tasks?cursor=x')).status, 422)
  },
)

t.test('an invalid input is refused at once, not by the task', async t => {
  const refused = await json('/v1/skills/test-slow', { steps: 'many' })
  t.equal(refused.status, 422)
  t.equal(refused.json.error.param, 'steps')
})

t.test('progress is sent to clients that accept events; others get the answer alone', async t => {
  t.strictSame((await json('/v1/skills/test-talk', {})).json, {
    ...{ talked: true, data_state: 'live', unknown: [] },
  })
  const response = await caller(url, demo.operator, { accept: 'text/event-stream' }).raw(
    '/v1/skills/test-talk',
    {},
  )
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  t.equal(
    await response.text(),
    'event: progress\ndata: {"done":1,"total":2,"message":"half"}\n\n' +
      'event: result\ndata: {"talked":true,"data_state":"live","unknown":[]}\n\n',
  )
})

t.test('a task started again with its key is the same task with the same answer', async t => {
  const { raw } = caller(url, demo.operator, { 'idempotency-key': 'slow-once' })
  const [first, again] = [
    await raw('/v1/skills/test-slow', { steps: 1 }),
    await raw('/v1/skills/test-slow', { steps: 1 }),
  ]
  t.strictSame([first.status, again.status], [202, 202])
  t.match(again.headers.get('location'), /^\/v1\/tasks\/.+/)
  t.equal(again.headers.get('location'), first.headers.get('location'))
  await json(`${first.headers.get('location')}/cancel`, {})
})

t.test('a repeated call with progress and a key is carried out once', async t => {
  const headers = { accept: 'text/event-stream', 'idempotency-key': 'first-stone' }
  const { raw } = caller(url, demo.operator, headers)
  const first = await raw('/v1/skills/test-build', { stone: 'flat' })
  const result = 'event: result\ndata: {"height":1,"data_state":"live","unknown":[]}\n\n'
  t.equal(await first.text(), `event: progress\ndata: {"done":1}\n\n${result}`)
  const again = await raw('/v1/skills/test-build', { stone: 'flat' })
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  t.equal(await again.text(), result)
  t.strictSame(built, ['flat'])
})

t.test('a call that is refused before its first progress costs nothing', async t => {
  const { json } = caller(url, undefined, { accept: 'text/event-stream' })
  const refused = await json('/v1/skills/test-build', { stone: 'round' })
  t.equal(refused.status, 409)
  t.equal(refused.json.error.code, 'conflict')
  t.equal(refunds, 1)
})

t.test('a skill that runs on a cell takes the cell beside its input', async t => {
  t.equal((await json('/v1/skills/test-echo?cell=c1', { words: 'a' })).json.cell, 'c1')
  t.equal((await json('/v1/skills/test-open?cell=c1', {})).status, 422)
  t.equal((await raw('/v1/skills/test-echo?cell=c1&cell=c2', { words: 'a' })).status, 422)
})

/** Calls a skill with events, reads nothing of them, and returns both ends of the connection. */
const callUnread = async (skill: string, input: object, key?: string) => {
  flooded = Promise.withResolvers()
  const { hostname, port } = new URL(url)
  const accepted = once(scene.app.server, 'connection')
  const socket = connect(Number(port), hostname).pause()
  t.teardown(() => socket.destroy())
  const body = JSON.stringify(input)
  const head = [
    `POST /v1/skills/${skill} HTTP/1.1`,
    `host: ${hostname}`,
    'accept: text/event-stream',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  const [served] = (await accepted) as [Socket]
  return { socket, served, closed: once(served, 'close') }
}
const STALL_MS = 30_000

t.test('an operation that reports after its caller has disconnected is ignored', async t => {
  const { socket } = await callUnread('test-late-report', {})
  await lateBegan.promise
  socket.destroy()
  await lateEnded.promise
  t.equal((await json('/v1/skills/test-open', {})).status, 200)
})

t.test('the last event of a response follows the text that its reader has yet to take', async t => {
  const lines = new PacedLines()
  let taken: Promise<void> | undefined
  while (taken === undefined) taken = lines.put(CHUNK)
  const late = taken.then(() => lines.put('late'))
  lines.end('last')
  t.equal(await text(lines.stream), `${CHUNK}last`)
  t.equal(await late, undefined)
})

t.test('a stream waits for a client that reads nothing, and ends with its time', async t => {
  const { served, closed } = await callUnread('test-brief-flood', { waits: true })
  t.ok((await flooded.promise) < ENDLESS)
  t.equal(served.timeout, STALL_MS, 'a slow client has time to read the rest')
  served.emit('timeout')
  await closed
})

t.test('a client that does not read the result of a stream is disconnected', async t => {
  const { served, closed } = await callUnread('test-large-result', {})
  await waitUntil('the end of the call', () => served.timeout === STALL_MS)
  served.emit('timeout')
  await closed
  t.ok(served.destroyed)
})

t.test('a stream that does not wait is cut off when much of it is unread', async t => {
  const { closed } = await callUnread('test-flood', { waits: false })
  t.ok((await flooded.promise) < ENDLESS, 'it ends by its bytes, long before its time')
  await closed
})

t.test('a client whose key has ended is disconnected, even if it reads nothing', async t => {
  const { keys } = scene.views
  const own = (await keys.list('all')).find(({ tier }) => tier === 'free')
  const { served, closed } = await callUnread('test-flood', { waits: true }, demo.free)
  let stalledLooks = 0
  await waitUntil('full buffers', () => served.writableNeedDrain && ++stalledLooks === 5)
  await keys.revoke(own?.id ?? '', 'all', BY)
  await flooded.promise
  t.not(served.timeout, STALL_MS)
  await closed
})
