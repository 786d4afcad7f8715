import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createTenant, enableTenant } from '../../../../coordinator/access/people/tenants.ts'
import { openWebhooks } from '../../../../coordinator/agents/webhooks/open.ts'
import { openCoordinator } from '../../../../coordinator/assembly/coordinator.ts'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { openEvents } from '../../../../coordinator/kernel/events/open.ts'
import { openLeader } from '../../../../coordinator/kernel/leader/open.ts'
import { openOutbound } from '../../../../coordinator/kernel/outbound/open.ts'
import { openQueue } from '../../../../coordinator/kernel/queue/open.ts'
import { openWorker } from '../../../../coordinator/kernel/queue/open-worker.ts'
import { openReplicas } from '../../../../coordinator/kernel/replicas/open.ts'
import { openSecretsPart } from '../../../../coordinator/kernel/secrets/open.ts'
import { openSigningKeys } from '../../../../coordinator/kernel/signing/open.ts'
import { restartSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { openMetrics } from '../../../../coordinator/surfaces/metrics/open.ts'
import { silent } from '../../../support/cell.ts'
import { REFUSED_ADDRESSES } from '../../../support/refused-addresses.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

interface Received {
  headers: Record<string, string | undefined>
  body: string
}

const own = { tenantId: 'one' }

/** The parts of the coordinator that send. */
const openSending = (store: Store, config: CoordinatorConfig, now: () => number) =>
  openCoordinator(
    [
      () => ({ store }),
      openReplicas,
      openLeader,
      openMetrics,
      openSecretsPart,
      openSigningKeys,
      openEvents,
      openQueue,
      openOutbound,
      openWebhooks,
      openWorker,
    ],
    config,
    silent,
    { now },
  )

/** The parts that send, and a target that answers as it is told. */
const scene = async (t: Test, settings: object = {}) => {
  const received: Received[] = []
  let statuses: number[] = []
  const target = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    received.push({ headers: request.headers as Received['headers'], body })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => target.close())
  const { port } = target.address() as AddressInfo
  const folder = await temporaryFolder(t)
  const store = await temporaryStore(t, folder)
  for (const id of ['one', 'two']) await createTenant(store.ledger, { id, name: id }, BY)
  const config = CoordinatorConfig.parse({
    state_dir: folder,
    outbound: { allow: [`127.0.0.1:${port}`], allow_http: true },
    webhooks: { retry_first_seconds: 0.01, max_attempts: 2, ...settings },
  })
  let aheadMs = 0
  const now = () => Date.now() + aheadMs
  const open = () => openSending(store, config, now)
  const { views, events, close: closeParts } = await open()
  const { queue, webhooks } = views
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeParts()
    return closing
  }
  t.teardown(close)
  const url = `http://127.0.0.1:${port}/hook/secret-path`
  const waitFor = (isRight: () => boolean | Promise<boolean>) =>
    waitUntil('what the webhooks do', isRight, 5)
  const answer = (...codes: number[]) => {
    statuses = codes
  }
  const advance = (ms: number) => {
    aheadMs += ms
  }
  const waitUntilIdle = () =>
    waitFor(async () =>
      (await queue.board(own)).every(({ state }) => !['queued', 'running'].includes(state)),
    )
  const sending = { queue, webhooks, open, close }
  return { ...sending, store, events, received, url, waitFor, answer, waitUntilIdle, advance }
}

const eventsOf = (received: Received[]) => received.map(({ body }) => JSON.parse(body))

t.test('events are delivered in order, signed, to their subscribers', async t => {
  const { webhooks, events, url, received, waitFor } = await scene(t)
  const wanted = { url, types: ['shoal.gate.*'], label: '' }
  const { secret, webhook } = await webhooks.create(wanted, own, BY)
  t.match(secret, /^whsec_/)
  await webhooks.create({ ...wanted, types: ['shoal.alert.*'] }, own, BY)
  for (const n of [1, 2, 3, 4, 5]) events.publish('shoal.gate.approved', { tenant_id: 'one', n })
  events.publish('shoal.gate.approved', { tenant_id: 'two' })
  events.publish('shoal.cell.ready', null)
  await waitFor(() => received.length >= 5)
  t.strictSame(
    eventsOf(received).map(({ data }: { data: { n: number } }) => data.n),
    [1, 2, 3, 4, 5],
  )
  for (const { headers, body } of received) {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers
    const key = Buffer.from(secret.slice(6), 'base64')
    const hmac = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
    t.equal(signature, `v1,${hmac}`)
    t.equal(id, JSON.parse(body).id)
    t.match(headers['content-type'], /^application\/cloudevents\+json/)
  }
  await waitFor(async () => (await webhooks.get(webhook.id, own)).deliveredAt !== undefined)
})

t.test('events with numbers that a fail-over gave again reach a webhook', async t => {
  const { webhooks, events, store, url, received, waitFor } = await scene(t)
  const { webhook } = await webhooks.create({ url, types: ['shoal.gate.*'], label: '' }, own, BY)
  for (const n of [1, 2, 3, 4]) events.publish('shoal.gate.approved', { tenant_id: 'one', n })
  await waitFor(async () => (await webhooks.get(webhook.id, own)).deliveredAt !== undefined)
  await waitFor(() => received.length === 4)
  await store.ledger.sealed.write(async trx => {
    await trx.deleteFrom('events').where('seq', '>', 2).execute()
    await trx.deleteFrom('jobs').execute()
    await trx.updateTable('event_cursors').set({ seq: 2 }).execute()
    await restartSequence(trx, 'events', 2)
  })
  for (const n of [5, 6, 7]) events.publish('shoal.gate.approved', { tenant_id: 'one', n })
  await waitFor(() => received.length >= 7)
  t.strictSame(
    eventsOf(received)
      .slice(4)
      .map(({ id, data }: { id: string; data: { n: number } }) => [id, data.n]),
    [
      ['3', 5],
      ['4', 6],
      ['5', 7],
    ],
  )
})

t.test('an event right after a webhook was created or enabled again reaches it', async t => {
  const { webhooks, events, url, received, waitFor, answer } = await scene(t)
  const publish = () => events.publish('shoal.gate.approved', { tenant_id: 'one' })
  const wanted = { url, types: ['shoal.gate.*'], label: '' }
  await Promise.all([webhooks.create(wanted, own, BY), webhooks.create(wanted, own, BY)])
  publish()
  await waitFor(() => received.length === 2)
  answer(410)
  publish()
  const findDisabled = async () =>
    (await webhooks.list(own)).find(({ disabledAt }) => disabledAt !== undefined)
  await waitFor(async () => received.length === 4 && (await findDisabled()) !== undefined)
  await webhooks.enable((await findDisabled())?.id ?? '', own, BY)
  publish()
  await waitFor(() => received.length === 6)
})

t.test('an undefined member is omitted from the delivered event', async t => {
  const { webhooks, events, url, received, waitFor } = await scene(t)
  await webhooks.create({ url, types: ['shoal.session.*'], label: '' }, own, BY)
  events.publish('shoal.session.docked', { tenant_id: 'one', outcome: undefined })
  await waitFor(() => received.length > 0)
  t.strictSame(eventsOf(received)[0].data, { tenant_id: 'one' })
})

t.test('every forbidden address is refused when a webhook is created', async t => {
  const { webhooks } = await scene(t)
  t.ok(REFUSED_ADDRESSES.length >= 40)
  for (const [what, url] of REFUSED_ADDRESSES)
    await t.rejects(
      async () => webhooks.create({ url, types: [], label: '' }, own, BY),
      { code: 'invalid_request' },
      what,
    )
  t.strictSame(await webhooks.list(own), [])
})

t.test('a failed delivery is retried, and no later one overtakes it', async t => {
  const { webhooks, events, url, received, waitFor, answer } = await scene(t)
  await webhooks.create({ url, types: [], label: '' }, own, BY)
  answer(500)
  for (const n of [1, 2]) events.publish('shoal.cell.ready', { n })
  await waitFor(() => received.length === 3)
  t.strictSame(
    eventsOf(received).map(({ data }) => data.n),
    [1, 1, 2],
  )
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 2)
})

t.test('a webhook that accepts nothing is disabled, audited and announced', async t => {
  const { webhooks, events, queue, url, received, waitFor, answer, store, waitUntilIdle } =
    await scene(t, {
      max_attempts: 1,
      disable_after: 2,
    })
  const { webhook } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  const told: unknown[] = []
  events.subscribe('shoal.webhook.', event => told.push(event))
  answer(500, 500)
  await webhooks.test(webhook.id, own, BY)
  await webhooks.test(webhook.id, own, BY)
  await waitFor(async () => (await webhooks.get(webhook.id, own)).disabledAt !== undefined)
  t.match(await webhooks.get(webhook.id, own), {
    disabledReason: '2 events in a row were not accepted',
  })
  t.match(told, [{ type: 'shoal.webhook.disabled', subject: webhook.id }])
  await t.rejects(webhooks.test(webhook.id, own, BY), { code: 'conflict' })
  const { actor, details_json } = await store.ledger.read
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', 'webhook.disable')
    .executeTakeFirstOrThrow()
  t.equal(actor, 'coordinator')
  t.notMatch(details_json, /secret-path/)
  await waitUntilIdle()
  const dead = await queue.list({ limit: 9, states: ['dead'] }, own)
  t.strictSame(
    dead.map(({ reason }) => reason),
    ['the target answered 500', 'the target answered 500'],
  )
  await webhooks.enable(webhook.id, own, BY)
  received.length = 0
  await webhooks.test(webhook.id, own, BY)
  await waitFor(() => received.length === 1)
})

t.test('a target that answers gone is disabled at once', async t => {
  const { webhooks, url, answer, waitFor } = await scene(t)
  const { webhook } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  answer(410)
  await webhooks.test(webhook.id, own, BY)
  await waitFor(async () => (await webhooks.get(webhook.id, own)).disabledAt !== undefined)
})

t.test('too many pending events disable a webhook and are discarded', async t => {
  const { webhooks, events, queue, url, waitFor, answer } = await scene(t, {
    max_pending: 3,
    max_attempts: 20,
    retry_first_seconds: 3600,
  })
  const { webhook } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  answer(...Array.from({ length: 99 }, () => 500))
  for (const n of [1, 2, 3, 4]) events.publish('shoal.cell.ready', { n })
  await waitFor(async () => (await webhooks.get(webhook.id, own)).disabledAt !== undefined)
  // one of the three may be on its way just then
  const calledOff = await queue.list({ limit: 9, states: ['cancelled'] }, own)
  t.ok(calledOff.length >= 2)
  t.match(await webhooks.get(webhook.id, own), { disabledReason: '3 events wait for it' })
})

t.test(
  'an address that takes fewer events than there are is slowed, and its owner told',
  async t => {
    const limits = { max_pending: 3, max_attempts: 20 }
    const { webhooks, events, url, received, waitFor, answer } = await scene(t, limits)
    const wanted = { url, types: ['shoal.cell.*'], label: '' }
    const { webhook } = await webhooks.create(wanted, own, BY)
    const told: { type: string; data: unknown }[] = []
    events.subscribe('shoal.webhook.', event => told.push(event))
    events.publish('shoal.cell.ready', { n: 0 })
    await waitFor(async () => (await webhooks.get(webhook.id, own)).deliveredAt !== undefined)
    answer(...Array.from({ length: 20 }, () => 500))
    for (let n = 1; n <= 8; n++) events.publish('shoal.cell.ready', { n })
    await waitFor(() => told.length > 0)
    t.match(told, [{ type: 'shoal.webhook.slowed', data: { reason: /^3 events wait for it/ } }])
    const slowed = await webhooks.get(webhook.id, own)
    t.ok(slowed.slowedAt)
    t.equal(slowed.disabledAt, undefined)
    answer()
    await waitFor(() => told.length > 1)
    t.match(told[1], { type: 'shoal.webhook.caught_up' }, 'and told once that it has caught up')
    await waitFor(() => new Set(eventsOf(received).map(({ data }) => data.n)).size === 9)
    t.equal((await webhooks.get(webhook.id, own)).slowedAt, undefined)
  },
)

t.test('a new secret signs beside the previous one', async t => {
  const { webhooks, url, received, waitFor } = await scene(t)
  const { webhook, secret } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  const rotated = await webhooks.rotate(webhook.id, own, BY)
  t.not(rotated.secret, secret)
  await webhooks.test(webhook.id, own, BY)
  await waitFor(() => received.length === 1)
  t.equal(received[0]?.headers['webhook-signature']?.split(' ').length, 2)
})

t.test('a forbidden address and a surplus webhook are refused', async t => {
  const { webhooks, url } = await scene(t, { max_per_tenant: 1 })
  const create = (address: string) =>
    webhooks.create({ url: address, types: [], label: '' }, own, BY)
  for (const address of ['http://127.0.0.1:1/', 'https://10.0.0.1/', 'https://localhost/'])
    await t.rejects(create(address), { code: 'invalid_request', param: 'url' })
  await create(url)
  await t.rejects(create(url), { code: 'conflict' })
})

t.test('a tenant has its own webhooks', async t => {
  const { webhooks, url } = await scene(t)
  const other = { tenantId: 'two' }
  const { webhook } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  t.strictSame(await webhooks.list(other), [])
  for (const verb of ['rotate', 'enable', 'delete', 'test'] as const)
    await t.rejects(Promise.resolve<unknown>(webhooks[verb](webhook.id, other, BY)), {
      code: 'not_found',
    })
  await t.rejects(webhooks.get(webhook.id, other), { code: 'not_found' })
  await webhooks.delete(webhook.id, own, BY)
  t.strictSame(await webhooks.list(own), [])
})

t.test(
  'a webhook that cannot be read keeps no event from the others and can be deleted',
  async t => {
    const { webhooks, events, url, received, waitFor, store } = await scene(t)
    const wanted = { url, types: ['shoal.gate.*'], label: '' }
    const { webhook } = await webhooks.create(wanted, own, BY)
    const sound = await webhooks.create(wanted, own, BY)
    await store.ledger.free.write(trx =>
      trx.updateTable('webhooks').set({ types_json: '{' }).where('id', '=', webhook.id).execute(),
    )
    t.strictSame(
      (await webhooks.list(own)).map(({ id }) => id),
      [sound.webhook.id],
    )
    events.publish('shoal.gate.approved', { tenant_id: 'one', n: 1 })
    await waitFor(() => received.length > 0)
    await t.rejects(webhooks.get(webhook.id, own), { code: 'internal', message: webhook.id })
    await t.rejects(webhooks.delete(webhook.id, { tenantId: 'two' }, BY), { code: 'not_found' })
    t.match(await webhooks.delete(webhook.id, own, BY), { id: webhook.id, url, types: [] })
    await t.rejects(webhooks.get(webhook.id, own), { code: 'not_found' })
    const row = { action: 'webhook.delete', subject: webhook.id, tenant: 'one' }
    t.match((await auditRows(store)).at(-1), row)
  },
)

t.test('the secret is never stored in plain text', async t => {
  const { webhooks, url, store } = await scene(t)
  const { secret } = await webhooks.create({ url, types: [], label: '' }, own, BY)
  const rows = await store.ledger.read.selectFrom('webhooks').selectAll().execute()
  const audit = await store.ledger.read.selectFrom('audit').selectAll().execute()
  t.notOk(JSON.stringify([rows, audit]).includes(secret.slice(6)))
})

t.test('an event received before a stop is delivered by the next process', async t => {
  const { webhooks, events, received, url, waitFor, answer, close, open } = await scene(t, {
    max_attempts: 20,
  })
  const { webhook } = await webhooks.create({ url, types: ['shoal.fleet.*'], label: '' }, own, BY)
  answer(...Array.from({ length: 99 }, () => 503))
  const { eventId } = await webhooks.test(webhook.id, own, BY)
  events.publish('shoal.fleet.degraded', { missing: 3 })
  await close()
  answer()
  received.length = 0
  const next = await open()
  t.teardown(() => next.close())
  await waitFor(() => eventsOf(received).some(({ data }) => data.missing === 3))
  t.ok(eventsOf(received).some(event => event.id === eventId))
})

t.test(
  'each event is delivered once, in order, by coordinators that all take the lead',
  async t => {
    const { webhooks, events, url, received, waitFor, open, close, waitUntilIdle } = await scene(t)
    await webhooks.create({ url, types: ['shoal.gate.*'], label: '' }, own, BY)
    const second = await open()
    const publish = (by: typeof events, from: number, to: number) => {
      for (let n = from; n < to; n++) by.publish('shoal.gate.approved', { tenant_id: 'one', n })
    }
    publish(events, 0, 20)
    publish(second.events, 20, 40)
    await waitFor(() => received.length >= 40)
    await second.close()
    publish(events, 40, 50)
    await close()
    const third = await open()
    t.teardown(() => third.close())
    await waitFor(() => received.length >= 50)
    await waitUntilIdle()
    const numbers = eventsOf(received).map(({ id }) => Number(id))
    t.strictSame(
      numbers,
      Array.from({ length: 50 }, (_, i) => i + (numbers[0] ?? 0)),
    )
  },
)

t.test('a disabled tenant gets nothing; pending events wait until it is enabled', async t => {
  const { webhooks, events, store, url, received, waitFor, queue, advance } = await scene(t)
  const { webhook } = await webhooks.create({ url, types: ['shoal.gate.*'], label: '' }, own, BY)
  const enable = (enabled: boolean) =>
    store.ledger.sealed.write(trx => enableTenant(trx, { id: 'one', enabled, at: Date.now() }, BY))
  await enable(false)
  events.publish('shoal.gate.approved', { tenant_id: 'one' })
  const { jobId } = await webhooks.test(webhook.id, own, BY)
  await waitFor(async () => (await queue.get(jobId, own)).reason === 'the tenant is disabled')
  t.equal(received.length, 0)
  await enable(true)
  events.publish('shoal.gate.blocked', { tenant_id: 'one' })
  advance(60_000)
  await waitFor(() => received.length === 2)
  t.strictSame(
    eventsOf(received).map(({ type }) => type),
    ['shoal.webhook.test', 'shoal.gate.blocked'],
  )
})
