import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { startStack, type TestStack } from '../support/stack.ts'
import { killUnderUse } from '../support/usage-kills.ts'

/** Random weights, asked greedily, go round in circles: streams of a length the test chooses. */
const weights = join(mkdtempSync(join(tmpdir(), 'shoal-weights-')), 'random.gguf')
const catalogue = [
  { id: 'model-a:7b', kind: 'chat', minimum_tier: 'free', weights, context_length: 2048 },
]

t.before(() =>
  writeRandomModel(weights, {
    embeddingLength: 256,
    blockCount: 4,
    headCount: 4,
    headCountKv: 2,
    feedForwardLength: 768,
    vocabularySize: 600,
    contextLength: 2048,
    type: 'Q8_0',
    seed: 1,
  }),
)

let started: Promise<TestStack> | undefined
/** The coordinator and the two cells of all tests here. */
const startOnce = (): Promise<TestStack> => {
  started ??= startStack({ cells: 2, catalogue, inference: { slots: 32 } })
  return started
}
t.teardown(async () => (await started)?.stop())

const openStream = async (stack: TestStack, maxTokens: number): Promise<Response> => {
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.keys.enterprise}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      model: 'model-a:7b',
      messages: [{ role: 'user', content: 'go' }],
      temperature: 0,
      max_tokens: maxTokens,
      stream: true,
    }),
  })
  if (!response.ok) throw new Error(await response.text())
  return response
}

interface Ending {
  cell: string | null
  /** The last line of the stream: `[DONE]`, or an error. */
  last: string
}

/** Reads one stream to its end; `onStart` is called with its first bytes. */
const follow = async (
  stack: TestStack,
  maxTokens: number,
  onStart: () => void,
): Promise<Ending> => {
  const response = await openStream(stack, maxTokens)
  let tell: (() => void) | undefined = onStart
  let tail = ''
  for await (const piece of response.body ?? []) {
    tell?.()
    tell = undefined
    tail = (tail + Buffer.from(piece).toString('latin1')).slice(-500)
  }
  const last = tail.trimEnd().split('\n').at(-1)?.replace('data: ', '') ?? ''
  return { cell: response.headers.get('x-shoal-cell'), last }
}

const isWhole = (ending: Ending): boolean => ending.last === '[DONE]'
const hasFailed = (ending: Ending): boolean => /"code":"cell_unavailable"/.test(ending.last)

t.test('one of two cells dies with 50 open streams', async t => {
  const stack = await startOnce()
  let running = 0
  let allRun: () => void = () => {}
  const allStarted = new Promise<void>(resolve => {
    allRun = resolve
  })
  const ended: Ending[] = []
  const streams = Array.from({ length: 50 }, async () => {
    const ending = await follow(stack, 300, () => {
      if (++running === 50) allRun()
    })
    ended.push(ending)
    return ending
  })
  await allStarted

  const [dead, alive] = stack.cells
  const deadId = dead?.lines.map(line => /"cell_id":"(cell_\w+)"/.exec(line)?.[1]).find(Boolean)
  const before = [...ended]
  await dead?.end('SIGKILL')
  await stack.waitForHealth(({ cells }) => cells === 1)

  t.test('a request right after the death is answered by the other cell', async t => {
    const ending = await follow(stack, 5, () => {})
    t.not(ending.cell, deadId)
    t.ok(isWhole(ending))
  })

  t.test(
    'streams on the dead cell end with an error, and those on the other continue to their end',
    async t => {
      const endings = await Promise.all(streams)
      // one cell may be done with its first streams before the other begins its last
      const onDead = endings.filter(each => each.cell === deadId && !before.includes(each))
      const onAlive = endings.filter(({ cell }) => cell !== deadId)
      t.ok(onDead.length > 0 && onAlive.length > 0, 'both cells have streams')
      t.strictSame(
        onDead.filter(ending => !hasFailed(ending)),
        [],
      )
      t.strictSame(
        onAlive.filter(ending => !isWhole(ending)),
        [],
      )
    },
  )

  t.test('the cell serves again after a restart, with the same identity', async t => {
    dead?.start()
    await stack.waitForHealth(({ cells }) => cells === 2)
    await alive?.end('SIGTERM')
    await stack.waitForHealth(({ cells, models }) => cells === 1 && models === 1)
    const ending = await follow(stack, 5, () => {})
    t.equal(ending.cell, deadId)
    t.ok(isWhole(ending))
  })
})

/** Children of a process that run the engine. */
const engines = (pid: number): number[] =>
  spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number)

t.test('a crash of the engine ends its stream with an error', async t => {
  const stack = await startOnce()
  const [cell, other] = stack.cells
  await other?.end('SIGTERM')
  await stack.waitForHealth(({ cells, models }) => cells === 1 && models === 1)
  const pid = cell?.pid ?? 0
  await follow(stack, 5, () => {})
  const running = engines(pid)
  // long enough that a slow test sees its beginning well before its end
  const ending = follow(stack, 1900, () => {
    for (const engine of running) process.kill(engine, 'SIGKILL')
  })
  t.ok(hasFailed(await ending))
  t.ok(isWhole(await follow(stack, 5, () => {})), 'the next request waits for the model')
  t.equal(cell?.pid, pid, 'the daemon lives')
})

/** The full size of this test is `npm run prove -- usage-kills`; it is the last, and ends the coordinator. */
t.test('the coordinator recovers from kill -9 under load', async t => {
  const stack = await startOnce()
  await stack.cells[1]?.end('SIGTERM')
  stack.cells[1]?.start()
  await stack.waitForHealth(({ cells, models }) => cells === 2 && models === 1)
  const { acknowledged, lost, audit } = await killUnderUse(stack, { kills: 2, model: 'model-a:7b' })
  t.strictSame(lost, [], 'no acknowledged usage row is lost')
  t.comment(`${acknowledged.length} answers`)
  t.match(audit, { ok: true })
})
