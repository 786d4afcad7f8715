import t from 'tap'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { ConversationsConfig } from '../../../../coordinator/agents/conversations/conversations-config.ts'
import { RemoteAgents } from '../../../../coordinator/agents/conversations/remote-agent.ts'
import type { Context } from '../../../../coordinator/kernel/declaration/context.ts'
import { Outbound } from '../../../../coordinator/kernel/outbound/outbound-config.ts'
import { createSender } from '../../../../coordinator/kernel/outbound/sender.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { keyOfTier } from '../../../support/app.ts'
import { openTestConversations } from '../../../support/conversing.ts'
import { newerAgent, olderAgent } from '../../../support/sdk-agents.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

/** Waits for nothing, but says how long it would have, and what it is told of before. */
const scene = (place: string, onWait: (milliseconds: number) => unknown = () => {}) =>
  new RemoteAgents({
    runtime: systemRuntime,
    sender: createSender({
      runtime: systemRuntime,
      config: Outbound.parse({ allow: [place], allow_http: true }),
    }),
    config: ConversationsConfig.parse({ agents: [place] }),
    credentials: { headersFor: async () => ({}) },
    wait: async (milliseconds, signal) => {
      await onWait(milliseconds)
      signal.throwIfAborted()
    },
  })

const KINDS = [
  ['1.0', newerAgent, 'GetTask', 'CancelTask'],
  ['0.3', olderAgent, 'tasks/get', 'tasks/cancel'],
] as const

for (const [version, open, get, cancel] of KINDS) {
  t.test(`a task of an agent of ${version} is followed to its end`, async t => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { place, card, methods, cancelled } = await open(t, 'at last', { until: promise })
    const waits: number[] = []
    const agents = scene(place, milliseconds => {
      if (waits.push(milliseconds) === 6) resolve()
    })
    t.equal(await agents.ask(card, 'x', new AbortController().signal), 'at last')
    t.ok(waits.length >= 6)
    t.ok(waits.every(milliseconds => milliseconds >= 250 && milliseconds <= 5000))
    t.ok((waits[5] ?? 0) > (waits[0] ?? 0), 'each wait is longer than those before')
    t.strictSame(new Set(methods.slice(1)), new Set([get]))
    t.strictSame(cancelled, [])
  })

  t.test(`a disconnecting caller cancels the task of an agent of ${version}`, async t => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { place, card, methods, cancelled } = await open(t, 'never', { until: promise })
    const leaving = new AbortController()
    const agents = scene(place, () => leaving.abort(new Error('left')))
    await t.rejects(agents.ask(card, 'x', leaving.signal))
    await agents.close()
    t.equal(methods.at(-1), cancel)
    t.equal(cancelled.length, 1)
    resolve()
  })

  t.test(`leaving a conversation ends the task at an agent of ${version}`, async t => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { place, card, methods, cancelled } = await open(t, 'never', { until: promise })
    const store = await temporaryStore(t)
    await createTenant(store.ledger, { id: 'home', name: 'home' }, BY)
    const conversations = await openTestConversations(store, Date.now, {
      settings: { agents: [place] },
      outbound: { allow: [place], allow_http: true },
    })
    t.teardown(() => conversations.close())
    const leaving = new AbortController()
    const caller = {
      key: keyOfTier('pro'),
      tenantId: 'home',
      requestId: 'r',
      actor: BY,
      signal: leaving.signal,
    } as Context
    const participants = [{ id: 'far', type: 'agent' as const, url: card }]
    const wanted = { title: 'T', participants, autoRoute: true }
    const { id } = await conversations.create(wanted, caller)
    const sent = conversations.send(id, { content: 'hi', autoRoute: false, tell: () => {} }, caller)
    await waitUntil('the task is polled', () => methods.includes(get), 5)
    leaving.abort()
    t.match(await sent, { message: { state: 'cancelled' } })
    await waitUntil('the task is cancelled', () => cancelled.length > 0, 5)
    resolve()
  })
}
