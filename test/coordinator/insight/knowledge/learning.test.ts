import t from 'tap'
import { Knowledge } from '../../../../coordinator/insight/knowledge/knowledge.ts'
import {
  decayStrength,
  forgetWeakStrengths,
  MAX_LEARNED,
  readLearning,
} from '../../../../coordinator/insight/knowledge/learning-store.ts'
import { factsOf } from '../../../support/knowledge-graph.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

const EDGE = 'a:1 uses a:2'
const HOUR_MS = 3_600_000
const NOW = 1_800_000_000_000

/** A graph on a store; several of them are like coordinators. */
const knowledgeOn = (store: Awaited<ReturnType<typeof temporaryStore>>, clock = { now: NOW }) =>
  new Knowledge({
    ledger: store.ledger,
    readLiveFacts: async () => factsOf([EDGE]),
    now: () => clock.now,
  })

const strengthIn = async (knowledge: Knowledge, now = NOW, tenant = 'home') =>
  (await knowledge.graphOf(tenant)).readLearnedStrength(EDGE, now)
const about = (value: number) => Math.round(value * 1000) / 1000

t.test('gains of two coordinators on one store add up, and both learn the sum', async t => {
  const store = await temporaryStore(t)
  const [one, other] = [knowledgeOn(store), knowledgeOn(store)]
  for (const knowledge of [one, other]) await knowledge.graphOf('home')
  one.noteGains('home', new Map([[EDGE, 1]]))
  other.noteGains('home', new Map([[EDGE, 1]]))
  await Promise.all([one.learn(), other.learn()])
  await Promise.all([one.readLearningAgain(), other.readLearningAgain()])
  // two steps of 20 percent of what is missing
  t.equal(about(await strengthIn(one)), 0.36)
  t.equal(about(await strengthIn(other)), 0.36)
  const alone = knowledgeOn(await temporaryStore(t))
  alone.noteGains('home', new Map([[EDGE, 1]]))
  alone.noteGains('home', new Map([[EDGE, 1]]))
  await alone.learn()
  t.equal(about(await strengthIn(alone)), 0.36, 'as one coordinator would')
})

t.test(
  'what is learned survives a restart, decays by half in its half-life, and never exceeds 1',
  async t => {
    const store = await temporaryStore(t)
    const clock = { now: NOW }
    const first = knowledgeOn(store, clock)
    for (let n = 0; n < 50; n++) first.noteGains('home', new Map([[EDGE, 1]]))
    await first.learn()
    const restarted = knowledgeOn(store, clock)
    t.equal(about(await strengthIn(restarted)), 1)
    t.equal(about(await strengthIn(restarted, NOW + 168 * HOUR_MS)), 0.5)
    clock.now = NOW + 168 * HOUR_MS
    restarted.noteGains('home', new Map([[EDGE, 1]]))
    await restarted.learn()
    t.equal(about(await strengthIn(restarted, clock.now)), 0.6, 'a gain adds to what is left')
  },
)

t.test('each tenant learns alone, and can switch learning off and forget', async t => {
  const store = await temporaryStore(t)
  const knowledge = knowledgeOn(store)
  knowledge.noteGains('home', new Map([[EDGE, 1]]))
  await knowledge.learn()
  t.equal(await strengthIn(knowledge, NOW, 'other'), 0)
  await knowledge.setLearning('home', { enabled: false, forget: false }, BY)
  knowledge.noteGains('home', new Map([[EDGE, 1]]))
  await knowledge.learn()
  t.equal(about(await strengthIn(knowledge)), 0.2, 'it keeps what it knew')
  await knowledge.setLearning('home', { enabled: true, forget: true }, BY)
  t.equal(await strengthIn(knowledge), 0)
})

t.test('the strongest edges are kept up to the limit, faded ones are forgotten', async t => {
  const store = await temporaryStore(t)
  const knowledge = knowledgeOn(store)
  for (let part = 0; part < 4; part++) {
    const keys = Array.from({ length: 1500 }, (_, n) => `x:${part} uses y:${n}`)
    knowledge.noteGains('home', new Map(keys.map(key => [key, part === 0 ? 0.5 : 1])))
    await knowledge.learn()
  }
  await forgetWeakStrengths(store.ledger, NOW)
  const { learned, settings } = await readLearning(store.ledger.read, 'home')
  t.equal(learned.size, MAX_LEARNED)
  t.equal([...learned.keys()].filter(key => key.startsWith('x:0')).length, MAX_LEARNED - 4500)
  t.equal(about(decayStrength({ strength: 1, at: 0 }, 2 * 168 * HOUR_MS, settings)), 0.25)
  await forgetWeakStrengths(store.ledger, NOW + 2000 * HOUR_MS)
  t.equal((await readLearning(store.ledger.read, 'home')).learned.size, 0)
})

t.test('gains that cannot be stored are kept for the next time', async t => {
  const store = await temporaryStore(t)
  let fails = true
  const sealed: typeof store.ledger.sealed = {
    write: (work, options) =>
      fails ? Promise.reject(new Error('disk full')) : store.ledger.sealed.write(work, options),
  }
  const knowledge = new Knowledge({
    ledger: { read: store.ledger.read, sealed },
    readLiveFacts: async () => factsOf([EDGE]),
    now: () => NOW,
  })
  knowledge.noteGains('home', new Map([[EDGE, 1]]))
  await t.rejects(knowledge.learn(), { message: 'disk full' })
  fails = false
  await knowledge.learn()
  t.equal(about(await strengthIn(knowledge)), 0.2)
})
