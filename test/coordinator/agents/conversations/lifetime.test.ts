import { mock } from 'node:test'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import {
  addMessage,
  settleMessage,
} from '../../../../coordinator/agents/conversations/conversation-store.ts'
import type { Conversations } from '../../../../coordinator/agents/conversations/conversations.ts'
import type { NewContent } from '../../../../coordinator/agents/conversations/exchange.ts'
import { startUpkeep } from '../../../../coordinator/agents/conversations/upkeep.ts'
import type { Context } from '../../../../coordinator/kernel/declaration/context.ts'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { LEASE_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { DAY_MS } from '../../../../shared/time.ts'
import { keyOfTier } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { openTestConversations, type TestConversationOptions } from '../../../support/conversing.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

const NOW = 1_800_000_000_000

/** Context of a caller, who leaves when the signal aborts. */
const caller = (signal = new AbortController().signal): Context =>
  ({ key: keyOfTier('pro'), tenantId: 'home', requestId: 'r', actor: BY, signal }) as Context

const beginConversation = async (t: Test, conversing: TestConversationOptions) => {
  const clock = { now: NOW }
  const store = await temporaryStore(t, undefined, { now: () => clock.now })
  await createTenant(store.ledger, { id: 'home', name: 'home' }, BY)
  const conversations = await openTestConversations(store, () => clock.now, conversing)
  t.teardown(() => conversations.close())
  const { id } = await conversations.create(
    { title: 'T', participants: [{ id: 'model-a:7b', type: 'model' }], autoRoute: true },
    caller(),
  )
  return { store, clock, conversations, id }
}

const say = (
  conversations: Pick<Conversations<Context>, 'send' | 'get'>,
  id: string,
  content: string,
  who = caller(),
) => conversations.send(id, { content, autoRoute: false, tell: () => {} }, who)

const messages = async (conversations: Pick<Conversations<Context>, 'send' | 'get'>, id: string) =>
  (await conversations.get(id, { limit: 50 }, caller())).messages

/** A model that answers when it is let, and ends when nobody waits any more. */
const createHeldModel = () => {
  const asked = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const askModel: TestConversationOptions['askModel'] = ({ signal }) => {
    asked.resolve()
    return new Promise((_, reject) => {
      // as the connection to a cell does, it keeps the process alive
      const alive = setInterval(() => {}, 1000)
      const stop = () => {
        clearInterval(alive)
        ended.resolve()
        reject(signal.reason)
      }
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
    })
  }
  return { askModel, asked: asked.promise, ended: ended.promise }
}

t.test("a caller that disconnects ends the model's work, and the message says so", async t => {
  const model = createHeldModel()
  const { conversations, id } = await beginConversation(t, { askModel: model.askModel })
  const leaving = new AbortController()
  const sent = say(conversations, id, 'hi', caller(leaving.signal))
  await model.asked
  leaving.abort()
  await model.ended
  t.match(await sent, {
    message: { state: 'cancelled', reason: 'the caller disconnected' },
    replies: [],
  })
  t.match(await messages(conversations, id), [{ content: 'hi', state: 'cancelled' }])
})

t.test('a message that takes too long ends with a notice', async t => {
  const { askModel } = createHeldModel()
  const { conversations, id } = await beginConversation(t, {
    askModel,
    settings: { message_seconds: 0.05 },
  })
  t.match(await say(conversations, id, 'hi'), {
    message: { state: 'failed', reason: /longer than 0.05 s/ },
    replies: [{ sender: 'system', state: 'failed' }],
  })
})

t.test('a reader that reads nothing does not hold back an answer', async t => {
  const { conversations, id } = await beginConversation(t, {
    askModel: async ({ delta }) => {
      await delta('a')
      await delta('b')
      return { text: 'ab', usage: undefined }
    },
    settings: { message_seconds: 10 },
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const begun = Promise.withResolvers<void>()
  const deltas: string[] = []
  const tell: NewContent['tell'] = told => {
    if (told.event !== 'delta') return undefined
    deltas.push(told.text)
    begun.resolve()
    return new Promise<never>(() => {})
  }
  const sent = conversations.send(id, { content: 'hi', autoRoute: false, tell }, caller())
  await begun.promise
  mock.timers.tick(2000)
  t.match(await sent, { message: { state: 'done' }, replies: [{ content: 'ab', state: 'done' }] })
  t.strictSame(deltas, ['a'])
})

t.test('a skill that never ends does not delay other work', async t => {
  const store = await temporaryStore(t)
  await createTenant(store.ledger, { id: 'home', name: 'home' }, BY)
  // a timer of its own keeps the process alive until the message has ended
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const endless = defineSkill({
    group: 'fleet',
    id: 'endless',
    name: 'Endless',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    description: 'Never answers.',
    input: z.strictObject({}),
    output: z.object({}),
    run: () => ({}),
  })
  const conversations = await openTestConversations(store, () => NOW, {
    moreSkills: [endless],
    settings: { message_seconds: 0.05 },
  })
  t.teardown(() => conversations.close())
  const who = { ...caller(), callSkill: () => new Promise<never>(() => {}) }
  const participants = [{ id: 'endless', type: 'skill' as const }]
  const { id } = await conversations.create({ title: 'T', participants, autoRoute: false }, who)
  t.match(await say(conversations, id, '@endless', who), { message: { state: 'failed' } })
})

t.test('a call that times out between answers reports it', async t => {
  const model = createHeldModel()
  const { conversations, id } = await beginConversation(t, { askModel: model.askModel })
  const call = new AbortController()
  const sent = say(conversations, id, 'hi', caller(call.signal))
  await model.asked
  call.abort(new ShoalError('request_timeout', 'the time is up'))
  t.match(await sent, {
    message: { state: 'cancelled', reason: 'the time limit of the call was reached' },
  })
})

t.test('a failing disk is reported before any participant is called', async t => {
  let asked = false
  const { conversations, id, store } = await beginConversation(t, {
    askModel: async () => {
      asked = true
      return { text: 'x', usage: undefined }
    },
  })
  const { free } = store.ledger
  store.ledger.free = {
    write: () => Promise.reject(new ShoalError('store_unavailable', 'the disk is full')),
  }
  t.teardown(() => {
    store.ledger.free = free
  })
  await t.rejects(say(conversations, id, 'hi'), { code: 'store_unavailable' })
  t.notOk(asked)
  t.strictSame(await messages(conversations, id), [])
})

t.test('a stopping coordinator marks the message as unanswered', async t => {
  const model = createHeldModel()
  const { conversations, id, store } = await beginConversation(t, { askModel: model.askModel })
  const sent = say(conversations, id, 'hi')
  await model.asked
  await conversations.close()
  t.match(await sent, { message: { state: 'failed', reason: /stopped before/ } })
  const next = await openTestConversations(store, () => NOW)
  t.teardown(() => next.close())
  t.match(await messages(next, id), [{ state: 'failed', reason: /stopped before/ }])
})

t.test('a killed coordinator marks only its unfinished messages when it returns', async t => {
  const model = createHeldModel()
  const { conversations, id, store, clock } = await beginConversation(t, {
    askModel: model.askModel,
  })
  const leaving = new AbortController()
  const sent = say(conversations, id, 'hi', caller(leaving.signal))
  await model.asked
  t.match(await messages(conversations, id), [{ state: 'answering' }])
  clock.now += LEASE_MS + 1
  const next = await openTestConversations(store, () => clock.now)
  t.teardown(() => next.close())
  leaving.abort()
  await sent
  t.match(
    await messages(next, id),
    [{ state: 'failed', reason: 'the coordinator stopped before it was answered' }],
    'also after its process has come to an end with it',
  )
})

t.test('a coordinator that does not lead leaves unfinished messages to the leader', async t => {
  const model = createHeldModel()
  const { conversations, id, store, clock } = await beginConversation(t, {
    askModel: model.askModel,
  })
  const leaving = new AbortController()
  const sent = say(conversations, id, 'hi', caller(leaving.signal))
  await model.asked
  clock.now += LEASE_MS + 1
  const following = { every: () => {}, runOnce: async () => {} }
  const { ledger } = store
  const parts = {
    ledger,
    ownership: newOwnership(ledger),
    leaderWork: following,
    schedules: following,
    retentionDays: 0,
    logger: silent,
  }
  await startUpkeep({ runtime: systemRuntime, ...parts, now: () => clock.now })
  t.match(await messages(conversations, id), [{ state: 'answering' }])
  leaving.abort()
  await sent
})

t.test(
  'a coordinator that does not lead fails its own message whose end was not stored',
  async t => {
    const { conversations, id, store } = await beginConversation(t, {})
    const { ledger } = store
    const ownership = newOwnership(ledger)
    let failOwn = async (): Promise<unknown> => t.fail('nothing was scheduled')
    const { take, release } = await startUpkeep({
      runtime: systemRuntime,
      ledger,
      ownership,
      leaderWork: { every: () => {}, runOnce: async () => {} },
      schedules: {
        every: (_name, _seconds, run) => {
          failOwn = async () => run()
        },
      },
      retentionDays: 0,
      logger: silent,
      now: () => NOW,
    })
    const takeOne = (content: string) =>
      take((trx, taken) =>
        addMessage(trx, id, { ...taken, sender: 'user', content, state: 'answering' }, NOW),
      )
    const [done, left] = [await takeOne('done'), await takeOne('left')]
    await takeOne('under way')
    await ledger.free.write(trx => settleMessage(trx, done.id, 'done', undefined))
    for (const { id } of [done, left]) release(id)
    await failOwn()
    t.match(await messages(conversations, id), [
      { content: 'done', state: 'done' },
      { content: 'left', state: 'failed', reason: /could not be stored/ },
      { content: 'under way', state: 'answering' },
    ])
  },
)

t.test('a coordinator ignores messages that another on the same store answers', async t => {
  const model = Promise.withResolvers<string>()
  const asked = Promise.withResolvers<void>()
  const askModel: TestConversationOptions['askModel'] = async () => {
    asked.resolve()
    return { text: await model.promise, usage: undefined }
  }
  const { conversations, id, store } = await beginConversation(t, { askModel })
  const sent = say(conversations, id, 'hi')
  await asked.promise
  const next = await openTestConversations(store, () => NOW)
  t.match(await messages(next, id), [{ state: 'answering' }])
  await next.close()
  t.match(await messages(conversations, id), [{ state: 'answering' }])
  model.resolve('hello')
  t.match(await sent, { message: { state: 'done' }, replies: [{ content: 'hello' }] })
  t.match(await messages(conversations, id), [{ state: 'done' }, { content: 'hello' }])
})

t.test('messages to one conversation are answered one after another', async t => {
  const first = Promise.withResolvers<string>()
  const asked = Promise.withResolvers<void>()
  let count = 0
  const { conversations, id } = await beginConversation(t, {
    askModel: async () => {
      asked.resolve()
      const text = ++count === 1 ? await first.promise : 'second'
      return { text, usage: undefined }
    },
  })
  const both = [say(conversations, id, 'one')]
  await asked.promise
  both.push(say(conversations, id, 'two'))
  first.resolve('first')
  await Promise.all(both)
  t.strictSame(
    (await messages(conversations, id)).map(({ content }) => content),
    ['one', 'first', 'two', 'second'],
  )
})

t.test('a message waits for one that another coordinator answers in the conversation', async t => {
  const first = Promise.withResolvers<string>()
  const asked = Promise.withResolvers<void>()
  const { conversations, id, store } = await beginConversation(t, {
    askModel: async () => {
      asked.resolve()
      return { text: await first.promise, usage: undefined }
    },
  })
  const next = await openTestConversations(store, () => NOW, {
    askModel: async () => ({ text: 'second', usage: undefined }),
  })
  t.teardown(() => next.close())
  const leaving = new AbortController()
  const both = [say(conversations, id, 'one')]
  await asked.promise
  const left = t.rejects(say(next, id, 'never', caller(leaving.signal)), { code: 'client_closed' })
  leaving.abort()
  await left
  both.push(say(next, id, 'two'))
  await next.get(id, { limit: 1 }, caller())
  first.resolve('first')
  await Promise.all(both)
  t.strictSame(
    (await messages(conversations, id)).map(({ content }) => content),
    ['one', 'first', 'two', 'second'],
  )
})

t.test('an idle conversation is deleted with its messages, and nothing else', async t => {
  const { conversations, id, store } = await beginConversation(t, {
    askModel: async () => ({ text: 'x', usage: undefined }),
  })
  await say(conversations, id, 'hi')
  const count = async ({ ledger }: Store) =>
    (await ledger.read.selectFrom('conversation_messages').select('id').execute()).length
  const countAfterDays = async (days: number, settings = {}) => {
    const later = await openTestConversations(store, () => NOW + days * DAY_MS, { settings })
    await later.close()
    return count(store)
  }
  t.equal(await countAfterDays(90), 2)
  t.equal(await countAfterDays(1000, { retention_days: 0 }), 2)
  t.equal(await countAfterDays(91), 0)
  await t.rejects(conversations.get(id, { limit: 1 }, caller()), { code: 'not_found' })
})
