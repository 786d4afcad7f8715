import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { BoundedProcess } from '../../shared/bounded-process.ts'
import { DocumentError, type Reading } from '../../shared/foreign/document.ts'
import { DocumentProcess } from '../../shared/foreign/document-process.ts'
import { readDocument } from '../../shared/foreign/read-document.ts'
import { listHostileAnswers } from '../support/hostile-documents.ts'

const FORMATS = { aider: 'yaml', arxiv: 'xml', entsoe: 'xml' } as const
const READERS = new URL('../support/document-readers.ts', import.meta.url).href

/** Turns of the event loop until the promise settles: one for work that holds the loop. */
const countTurns = async (work: Promise<unknown>): Promise<number> => {
  let isSettled = false
  const settle = (): void => {
    isSettled = true
  }
  work.then(settle, settle)
  let turns = 0
  for (; !isSettled; turns++) await setImmediate()
  return turns
}

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => '',
    error => (error instanceof DocumentError ? `${error.fault}: ${error.message}` : String(error)),
  )

t.test('The event loop turns while a hostile document is read', async t => {
  for (const { title, source, body } of listHostileAnswers()) {
    const format = FORMATS[source as keyof typeof FORMATS] ?? 'json'
    const work = readDocument(Buffer.from(body), { format })
    t.ok((await countTurns(work)) > 2, title)
  }
})

t.test('A document beyond a bound is refused with the bound that it exceeds', async t => {
  const cases: [string, Reading, string][] = [
    [
      '[[[1]]]',
      { format: 'json', limits: { maxDepth: 2 } },
      'excessive: nests deeper than 2 levels',
    ],
    ['[1,2,3]', { format: 'json', limits: { maxValues: 3 } }, 'excessive: has more than 3 values'],
    [
      '- [1, 2]',
      { format: 'yaml', limits: { maxDepth: 1 } },
      'excessive: nests deeper than 1 levels',
    ],
    [
      '<a><b/></a>',
      { format: 'xml', limits: { maxBytes: 4 } },
      'excessive: is larger than 4 bytes',
    ],
    // one call that needs all memory of the process would end the process
    [
      `[${'{},'.repeat(1_000_000)}0]`,
      { format: 'json', limits: { maxValues: 2_000_000 } },
      'excessive: has more than 1000000 values before it is reduced',
    ],
    ['{"a":', { format: 'json' }, 'damaged: is not valid JSON (Unexpected'],
    ['a: 1\na: 2', { format: 'yaml' }, 'damaged: is not valid YAML (Map keys must be unique'],
    ['a: &a [*a, *a]', { format: 'yaml' }, 'excessive: has more than 50000 values'],
  ]
  for (const [text, reading, expected] of cases) {
    const message = await messageOf(readDocument(Buffer.from(text), reading))
    t.equal(message.slice(0, expected.length), expected)
  }
})

t.test(
  'A reader reduces the document in the process, and its refusal reaches the caller',
  async t => {
    const read = (name: string, text: string, input?: unknown) =>
      readDocument(Buffer.from(text), { format: 'json', reader: { module: READERS, name, input } })
    t.equal(await read('readSum', '{"values":[1,2]}', 4), 7)
    await t.rejects(read('refuse', '{}'), {
      code: 'invalid_request',
      param: 'text',
      message: /line 3/,
    })
    t.equal(
      await messageOf(read('readBlindly', '{}')),
      'misshapen: is not what its reader expects (TypeError)',
    )
  },
)

t.test(
  'A document that takes too much ends its process, and the next one starts another',
  async t => {
    const thread = new DocumentProcess({ heapMb: 64, idleMs: 60_000 })
    const spin: Reading = { format: 'json', reader: { module: READERS, name: 'spin' } }
    const slow = thread.read(Buffer.from('{}'), { ...spin, limits: { maxSeconds: 0.05 } })
    const full: Reading = { format: 'json', reader: { module: READERS, name: 'fill' } }
    const large = thread.read(Buffer.from('{}'), { ...full, limits: { maxSeconds: 60 } })
    const next = thread.read(Buffer.from('[1]'), { format: 'json' })
    t.equal(await messageOf(slow), 'excessive: was not read within 0.05 s and 64 MB')
    t.equal(await messageOf(large), 'excessive: was not read within 60 s and 64 MB')
    t.same(await next, [1])
  },
)

t.test('A process that dies after its answer fails no later document', async t => {
  const thread = new DocumentProcess({ heapMb: 64, idleMs: 60_000 })
  const reader = { module: READERS, name: 'dieLater' }
  await thread.read(Buffer.from('{}'), { format: 'json', reader })
  while (thread.isStarted) await setImmediate()
  t.same(await thread.read(Buffer.from('[1]'), { format: 'json' }), [1])
})

t.test('An idle process ends', async t => {
  const thread = new DocumentProcess({ heapMb: 64, idleMs: 1 })
  t.equal(thread.isStarted, false)
  await thread.read(Buffer.from('a: 1'), { format: 'yaml' })
  while (thread.isStarted) await setImmediate()
  t.same(await thread.read(Buffer.from('a: 1'), { format: 'yaml' }), { a: 1 })
})

t.test('A program that is never loaded is stopped, and later orders are not held up', async t => {
  const folder = t.testdir({ 'stuck.mjs': 'setInterval(() => {}, 1000)' })
  const file = pathToFileURL(join(folder, 'stuck.mjs'))
  const process = new BoundedProcess<string, string>({ file, heapMb: 64, startMs: 1 })
  const orders = ['one', 'two'].map(order => process.ask(order, 60))
  for (const order of orders) await t.rejects(order, { message: /was not loaded within 0.001 s/ })
  t.equal(process.isStarted, false)
})
