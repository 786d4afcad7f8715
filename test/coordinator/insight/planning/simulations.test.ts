import t from 'tap'
import { buildNetwork } from '../../../../coordinator/insight/planning/network.ts'
import { Simulations } from '../../../../coordinator/insight/planning/simulations.ts'
import { estimateOf } from '../../../../coordinator/insight/planning/three-point.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { config } from '../../../support/app.ts'
import { construction } from './networks.ts'

const input = (runs: number) => ({
  network: buildNetwork(construction),
  estimates: construction.map(estimateOf),
  distribution: 'beta' as const,
  ...{ runs, seed: 1, limits: [44] },
})
/** An input that would take hours. */
const ENDLESS = input(2 ** 30)

const start = (mostRunning?: number) => {
  const { simulations: budget } = new Budgets(config().limits)
  return { simulations: new Simulations(budget, mostRunning), budget }
}

/** A call of a key, with what ends it. */
const callOf = (keyId: string) => {
  const left = new AbortController()
  return { leave: () => left.abort(new Error('left')), caller: { keyId, signal: left.signal } }
}

t.test('a simulation runs in a worker and gives its place back', async t => {
  const { simulations, budget } = start()
  const found = await simulations.run(input(1000), callOf('a').caller)
  t.equal(found.percentilesDays.length, 4)
  t.ok(found.meanDays > 40 && found.meanDays < 50)
  t.equal(budget.used, 0)
})

t.test('a caller that leaves ends its simulation, and the next one starts', async t => {
  const { simulations, budget } = start(1)
  const [running, waiting, last] = [callOf('a'), callOf('b'), callOf('c')]
  const endless = simulations.run(ENDLESS, running.caller)
  const never = simulations.run(ENDLESS, waiting.caller)
  const wanted = simulations.run(input(10), last.caller)
  waiting.leave()
  await t.rejects(never, { message: 'left' })
  running.leave()
  await t.rejects(endless, { message: 'left' })
  t.ok((await wanted).meanDays > 0)
  t.equal(budget.used, 0)
  await t.rejects(simulations.run(input(10), running.caller), { message: 'left' })
})

t.test('a key and all keys together have a bound, at which a call is refused', async t => {
  const { simulations, budget } = start(1)
  const calls = Array.from({ length: budget.limits.total }, (_, at) =>
    callOf(`key-${Math.floor(at / budget.limits.per.key)}`),
  )
  const runs = calls.map(({ caller }) => simulations.run(ENDLESS, caller))
  const settled = Promise.allSettled(runs)
  const refusal = (keyId: string) => simulations.run(input(1), callOf(keyId).caller)
  await t.rejects(refusal('key-0'), { code: 'rate_limited', message: /^this key/ })
  await t.rejects(refusal('other'), {
    code: 'rate_limited',
    message: /^all keys/,
    retryAfterSeconds: 5,
  })
  for (const { leave } of calls) leave()
  await settled
  t.equal(budget.used, 0)
})

t.test('a coordinator that stops ends running and waiting simulations', async t => {
  const { simulations, budget } = start(1)
  const runs = ['a', 'b'].map(key => simulations.run(ENDLESS, callOf(key).caller))
  const settled = Promise.allSettled(runs)
  simulations[Symbol.dispose]()
  const draining = { status: 'rejected', reason: { code: 'draining' } }
  t.match(await settled, [draining, draining])
  await t.rejects(simulations.run(input(1), callOf('c').caller), { code: 'draining' })
  t.equal(budget.used, 0)
})
