import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openLeader } from '../../../../coordinator/kernel/leader/open.ts'
import { JobError } from '../../../../coordinator/kernel/queue/job-error.ts'
import { forgetJobs } from '../../../../coordinator/kernel/queue/job-store.ts'
import { openWorker } from '../../../../coordinator/kernel/queue/open-worker.ts'
import { createQueue } from '../../../../coordinator/kernel/queue/queue.ts'
import { type Ledger, openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { placeEmptyStore } from '../../../support/empty-store.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder } from '../store/temporary.ts'
import { queueScene, testKind } from './scene.ts'

type Free = Ledger['free']

const own = { tenantId: 'one' }
const job = (n: number, more: object = {}) => ({ kind: 'test', payload: { n }, ...own, ...more })
const areAllDone = (states: string[]) => states.every(state => state === 'done')
const nOf = (payload: unknown) => (payload as { n: number }).n

t.test('jobs run urgent ones first, otherwise in order', async t => {
  const done: number[] = []
  const kind = testKind({ concurrency: 1, run: async payload => void done.push(nOf(payload)) })
  const { queue, work, waitForStates } = await queueScene(t, [kind])
  for (const [n, priority] of [
    [1, 5],
    [2, 9],
    [3, 5],
    [4, 0],
  ] as const)
    await queue.add(job(n, { priority }))
  work()
  await waitForStates(areAllDone)
  t.strictSame(done, [2, 1, 3, 4])
})

t.test('a job waits for its scheduled time', async t => {
  const { queue, work, waitForStates, clock } = await queueScene(t, [testKind()])
  await queue.add(job(1, { notBefore: clock.now + 1000 }))
  await queue.add(job(2))
  work()
  await waitForStates(states => states[1] === 'done')
  t.equal((await waitForStates(() => true))[0]?.state, 'queued')
  clock.now += 1000
  await waitForStates(areAllDone)
})

t.test('a job that cannot be read does not keep the others from running', async t => {
  const { queue, work, waitForStates, store } = await queueScene(t, [testKind()])
  const bad = await queue.add(job(1))
  await queue.add(job(2))
  await store.ledger.free.write(trx =>
    trx.updateTable('jobs').set({ payload_json: '{' }).where('id', '=', bad.id).execute(),
  )
  work()
  await waitUntil('the second job is done', async () => {
    const rows = await store.ledger.read.selectFrom('jobs').select('state').orderBy('seq').execute()
    return rows[1]?.state === 'done'
  })
  await store.ledger.free.write(trx =>
    trx.updateTable('jobs').set({ payload_json: '{"n":1}' }).where('id', '=', bad.id).execute(),
  )
  t.equal((await waitForStates(() => true))[0]?.state, 'running', 'until its lease ends')
})

t.test('a kind and key identify one job', async t => {
  const { queue, waitForStates } = await queueScene(t, [testKind()])
  const [first, second] = [
    await queue.add(job(1, { onceKey: 'a' })),
    await queue.add(job(2, { onceKey: 'a' })),
  ]
  t.equal(first.id, second.id)
  t.equal((await waitForStates(() => true)).length, 1)
})

t.test('a payload that does not match its kind is refused, and nothing is stored', async t => {
  const { queue, waitForStates } = await queueScene(t, [testKind()])
  await t.rejects(queue.add({ kind: 'test', payload: { n: 'x' }, ...own }))
  await t.rejects(queue.add({ kind: 'other', payload: {}, ...own }), /no kind of job other/)
  t.strictSame(await waitForStates(() => true), [])
})

t.test('a failed job is retried after its wait and then given up with the reason', async t => {
  const kind = testKind({
    run: async () => {
      throw new JobError('no luck')
    },
  })
  const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
  const dead: string[] = []
  await queue.add(job(1))
  work({ onGiveUp: async (_trx, given, reason) => void dead.push(`${given.id} ${reason}`) })
  const waited: number[] = []
  for (const attempt of [1, 2]) {
    for (;;) {
      const [now] = await waitForStates(states => states[0] === 'queued')
      if (now?.attempts === attempt) {
        waited.push(now.notBefore - clock.now)
        clock.now = now.notBefore
        break
      }
    }
  }
  const [given] = await waitForStates(states => states[0] === 'dead')
  t.strictSame(waited, [5000, 20_000])
  t.match(given, { attempts: 3, reason: 'no luck' })
  t.strictSame(dead, [`${given?.id} no luck`])
})

t.test("a permanent failure is given up at once, and a bug's message stays internal", async t => {
  const kind = testKind({
    run: async payload => {
      if (nOf(payload) === 1) throw new JobError('gone', { final: true })
      throw new RangeError('secret text')
    },
    maxAttempts: 1,
  })
  const { queue, work, waitForStates } = await queueScene(t, [kind])
  await queue.add(job(1))
  await queue.add(job(2))
  work()
  const jobs = await waitForStates(states => states.every(state => state === 'dead'))
  t.match(jobs, [{ attempts: 1, reason: 'gone' }, { reason: 'it failed (RangeError)' }])
})

t.test('a premature attempt does not count', async t => {
  const kind = testKind({
    maxAttempts: 1,
    run: async (_payload, { job: { fence } }) => {
      if (fence < 4) throw new JobError('wait', { early: true, retryAfterSeconds: 1 })
    },
  })
  const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
  await queue.add(job(1))
  work()
  const [done] = await waitForStates(([state]) => {
    clock.now += 500
    return state === 'done'
  })
  t.equal(done?.attempts, 1)
})

t.test('a lane', async t => {
  t.test('runs one job after another, and the head waits for its next attempt', async t => {
    const done: number[] = []
    let failures = 1
    const kind = testKind({
      run: async payload => {
        if (nOf(payload) === 1 && failures-- > 0) throw new JobError('not yet')
        done.push(nOf(payload))
      },
    })
    const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
    for (const n of [1, 2, 3]) await queue.add(job(n, { lane: 'a' }))
    await queue.add(job(4, { lane: 'b' }))
    work()
    await waitForStates(states => states[3] === 'done')
    await waitForStates(() => failures < 1)
    t.strictSame(done, [4], 'the others wait behind the first')
    await waitForStates(states => {
      clock.now += 5000
      return areAllDone(states)
    })
    t.strictSame(done, [4, 1, 2, 3])
  })

  t.test('continues when its head is given up, and a retried job goes before the rest', async t => {
    const done: number[] = []
    let broken = true
    const kind = testKind({
      maxAttempts: 1,
      run: async payload => {
        if (broken) throw new JobError('broken')
        done.push(nOf(payload))
      },
    })
    const { queue, work, waitForStates } = await queueScene(t, [kind])
    const first = await queue.add(job(1, { lane: 'a' }))
    const worker = work()
    await waitForStates(([state]) => state === 'dead')
    await worker.close()
    broken = false
    for (const n of [2, 3]) await queue.add(job(n, { lane: 'a' }))
    await queue.retry(first.id, own, BY)
    work({ id: 'w2' })
    await waitForStates(areAllDone)
    t.strictSame(done, [1, 2, 3])
  })
})

t.test('two workers never hold one job at the same time', async t => {
  const runs = new Map<number, number>()
  const kind = testKind({
    concurrency: 8,
    run: async payload => {
      runs.set(nOf(payload), (runs.get(nOf(payload)) ?? 0) + 1)
      await new Promise(resolve => setImmediate(resolve))
    },
  })
  const { queue, work, waitForStates } = await queueScene(t, [kind])
  await Promise.all(Array.from({ length: 100 }, (_, n) => queue.add(job(n))))
  work({ id: 'w1' })
  work({ id: 'w2' })
  await waitForStates(areAllDone)
  t.equal(runs.size, 100)
  t.ok([...runs.values()].every(count => count === 1))
})

t.test('a lease', async t => {
  t.test('that expired gives the job to another worker, and the first cannot end it', async t => {
    const begun: string[] = []
    const first = Promise.withResolvers<void>()
    const kind = testKind({
      concurrency: 1,
      run: async (_payload, { job: { worker = '' } }) => {
        begun.push(worker)
        if (worker === 'w1') await first.promise
      },
    })
    const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
    const outcomes: string[] = []
    await queue.add(job(1))
    work({ onOutcome: (_kind, outcome) => outcomes.push(`w1 ${outcome}`) })
    await waitForStates(() => begun.length === 1)
    clock.now += 30_000
    work({ id: 'w2', onOutcome: (_kind, outcome) => outcomes.push(`w2 ${outcome}`) })
    await waitForStates(areAllDone)
    first.resolve()
    await waitForStates(() => outcomes.length === 2)
    t.strictSame(outcomes, ['w2 done', 'w1 lost'])
  })

  t.test('that the store does not renew before its end stops the attempt, uncounted', async t => {
    const signals: AbortSignal[] = []
    const kind = testKind({
      run: async (_payload, { signal }) => {
        signals.push(signal)
        if (signals.length === 1) await new Promise(() => {})
      },
    })
    const { store, queue, work, waitForStates } = await queueScene(t, [kind])
    const { ledger } = store
    let isAway = false
    const free = {
      ...ledger.free,
      write: ((...asked) =>
        isAway ? Promise.reject(new Error('away')) : ledger.free.write(...asked)) as Free['write'],
    }
    const time = { ms: 0 }
    const beats: (() => void)[] = []
    const runtime = {
      ...systemRuntime,
      now: () => time.ms,
      nowMs: () => time.ms,
      setInterval: (call: () => void) => {
        beats.push(call)
        return systemRuntime.setTimeout(() => {}, 0)
      },
    }
    const beatAt = async (ms: number) => {
      time.ms = ms
      for (const beat of beats) beat()
      await new Promise(resolve => setImmediate(resolve))
    }
    await queue.add(job(1))
    work({ ledger: { ...ledger, free }, runtime })
    await waitForStates(() => signals.length === 1)
    isAway = true
    await beatAt(10_000)
    await beatAt(29_899)
    t.notOk(signals[0]?.aborted, 'the lease holds')
    await beatAt(29_900)
    t.ok(signals[0]?.aborted)
    isAway = false
    const [done] = await waitForStates(areAllDone)
    t.equal(done?.attempts, 1)
  })

  t.test('that expired costs no attempt where losses do not count', async t => {
    const begun: number[] = []
    const kind = testKind({
      maxAttempts: 1,
      countsLosses: false,
      run: async (_payload, { job: { attempts } }) => {
        begun.push(attempts)
        if (begun.length < 4) await new Promise(() => {})
      },
    })
    const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
    await queue.add(job(1))
    for (let lost = 0; lost < 4; lost++) {
      work({ id: `w${lost}` })
      await waitForStates(() => begun.length === lost + 1)
      clock.now += 30_000
    }
    await waitForStates(areAllDone)
    t.strictSame(begun, [1, 1, 1, 1])
  })

  t.test('that expired with every attempt ends as a dead letter', async t => {
    const kind = testKind({ maxAttempts: 1, run: () => new Promise(() => {}) })
    const { queue, work, waitForStates, clock } = await queueScene(t, [kind])
    await queue.add(job(1))
    work()
    await waitForStates(([state]) => state === 'running')
    clock.now += 30_000
    const [dead] = await waitForStates(([state]) => state === 'dead')
    t.match(dead, { reason: 'every worker that began it was lost' })
  })
})

t.test('a worker that stops returns its jobs, and the attempt does not count', async t => {
  const kind = testKind({ run: () => new Promise(() => {}) })
  const { queue, work, waitForStates } = await queueScene(t, [kind])
  await queue.add(job(1))
  const worker = work()
  await waitForStates(([state]) => state === 'running')
  await worker.close()
  t.match(await waitForStates(() => true), [{ state: 'queued', attempts: 0 }])
})

t.test('operators', async t => {
  const kind = testKind({
    maxAttempts: 1,
    run: async () => {
      throw new JobError('no')
    },
  })
  const { queue, work, waitForStates, store } = await queueScene(t, [kind])
  const dead = await queue.add(
    job(1, { payload: { n: 1, account: { project: 'p', costCents: 250 } } }),
  )
  work()
  await waitForStates(([state]) => state === 'dead')
  const waiting = await queue.add(
    job(2, {
      payload: { n: 2, account: { team: 'q', costCents: 5 } },
      notBefore: Number.MAX_SAFE_INTEGER,
    }),
  )

  t.test('are limited to their tenant', async t => {
    const other = { tenantId: 'two' }
    t.strictSame(await queue.list({ limit: 9 }, other), [])
    t.strictSame(await queue.board(other), [])
    for (const verb of ['retry', 'cancel', 'discard'] as const)
      await t.rejects(queue[verb](dead.id, other, BY), { code: 'not_found' })
    await t.rejects(queue.get(dead.id, other), { code: 'not_found' })
  })
  t.test('see totals', async t => {
    t.strictSame(await queue.board(own), [
      { project: 'p', team: null, kind: 'test', state: 'dead', jobs: 1, costCents: 250 },
      { project: 'tests', team: 'q', kind: 'test', state: 'queued', jobs: 1, costCents: 5 },
    ])
  })
  t.test('cancel pending jobs, retry and discard ended ones, and are audited', async t => {
    await t.rejects(queue.discard(waiting.id, own, BY), { code: 'conflict' })
    t.match(await queue.cancel(waiting.id, own, BY), { state: 'cancelled' })
    await t.rejects(queue.cancel(waiting.id, own, BY), { code: 'conflict' })
    t.match(await queue.retry(dead.id, own, BY), { state: 'queued', attempts: 0 })
    await waitForStates(([state]) => state === 'dead')
    await queue.discard(dead.id, own, BY)
    await t.rejects(queue.get(dead.id, own), { code: 'not_found' })
    const rows = await store.ledger.read
      .selectFrom('audit')
      .select(['action', 'subject'])
      .where('action', 'like', 'job.%')
      .execute()
    t.strictSame(rows, [
      { action: 'job.cancel', subject: waiting.id },
      { action: 'job.retry', subject: dead.id },
      { action: 'job.discard', subject: dead.id },
    ])
  })
})

t.test('ended jobs are deleted after their retention', async t => {
  const { store, queue, work, waitForStates, clock } = await queueScene(t, [testKind()])
  await queue.add(job(1))
  work()
  await waitForStates(areAllDone)
  const kinds = new Map([['test', testKind()]])
  clock.now += 86_399_999
  await forgetJobs(store.ledger, kinds, clock.now)
  t.equal((await queue.list({ limit: 9 }, { tenantId: 'one' })).length, 1)
  clock.now += 1000
  const stack = new AsyncDisposableStack()
  t.teardown(() => stack.disposeAsync())
  const schedules = { every: () => {} }
  const replicas = { id: 'rep_1' }
  const own = { store, stack, schedules, replicas, logger: silent, runtime: systemRuntime }
  const { leaderWork } = await openLeader(own)
  await openWorker({
    replicas: { id: 'rep_1' },
    runtime: systemRuntime,
    store,
    stack,
    schedules,
    leaderWork,
    work: { kinds, onWork: () => () => {} },
    events: { addWithin: async () => void t.fail('no job is given up') },
    metrics: { queue: { countAttempt: () => {}, setJobCounts: () => {} } },
    logger: silent,
    now: () => clock.now,
  })
  t.strictSame(await queue.list({ limit: 9 }, { tenantId: 'one' }), [])
})

t.test('processes that are killed while working lose no job', async t => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'done')
  placeEmptyStore(join(folder, 'state'))
  const store = await openStore(join(folder, 'state'))
  t.teardown(() => store.close())
  const kind = testKind({ maxAttempts: 50 })
  const kinds = new Map([[kind.kind, kind]])
  const queue = createQueue({
    ledger: store.ledger,
    kinds: () => kinds,
    now: Date.now,
    ids: systemRuntime.ids,
  })
  const total = 400
  const { tenantId: _, ...ownerless } = own
  await Promise.all(
    Array.from({ length: total }, (_, n) =>
      queue.add({ kind: 'test', payload: { n }, ...ownerless }),
    ),
  )
  const script = join(import.meta.dirname, 'queue-child.ts')
  const start = (id: string): ChildProcess =>
    spawn(process.execPath, [script, join(folder, 'state'), file, id], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  for (const round of [1, 2]) {
    const children = ['a', 'b'].map(name => start(`${name}${round}`))
    const ended = children.map(child => once(child, 'exit'))
    await Promise.race(children.map(child => once(child.stdout as never, 'data')))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(ended)
  }
  const last = start('last')
  const ended = once(last, 'exit')
  for (;;) {
    const board = await queue.board(own)
    if (board.every(({ state }) => state === 'done')) break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  last.kill('SIGTERM')
  await ended
  t.strictSame(
    (await queue.board(own)).map(({ state, jobs }) => [state, jobs]),
    [['done', total]],
  )
  const done = (await readFile(file, 'utf8')).trim().split('\n')
  t.equal(new Set(done.map(line => line.split(' ')[1])).size, total)
})
