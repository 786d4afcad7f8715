import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type * as z from 'zod'
import { createPushConfigs } from '../../coordinator/a2a/push/push-configs.ts'
import { createAgents } from '../../coordinator/agents/agents.ts'
import { AgentsConfig } from '../../coordinator/agents/config.ts'
import { openTaskPlane } from '../../coordinator/assembly/task-plane.ts'
import { createCells } from '../../coordinator/enrolment/cells.ts'
import { type CloudEvent, createEvents } from '../../coordinator/events/bus.ts'
import type { Alert } from '../../coordinator/fleet/alerts.ts'
import { shippedGates } from '../../coordinator/gates/definition.ts'
import { createGates } from '../../coordinator/gates/gates.ts'
import { configuredPolicy, openPolicies } from '../../coordinator/gates/policies.ts'
import { createIdempotency } from '../../coordinator/idempotency/idempotency.ts'
import { bootstrap } from '../../coordinator/keys/bootstrap.ts'
import { createKeys } from '../../coordinator/keys/keys.ts'
import type { Views } from '../../coordinator/operations/context.ts'
import { operations } from '../../coordinator/operations/index.ts'
import { Outbound } from '../../coordinator/outbound/outbound-config.ts'
import { createSender } from '../../coordinator/outbound/sender.ts'
import { createPerson } from '../../coordinator/people/people.ts'
import { createTenant } from '../../coordinator/people/tenants.ts'
import { jobKinds } from '../../coordinator/queue/job-kind.ts'
import { createQueue } from '../../coordinator/queue/queue.ts'
import { sealingWith } from '../../coordinator/signing/sealing.ts'
import { skills } from '../../coordinator/skills/index.ts'
import type { Store } from '../../coordinator/store/store.ts'
import { createVisitors, VisitorSettings } from '../../coordinator/visitors/visitors.ts'
import { webhookDelivery } from '../../coordinator/webhooks/webhook-delivery.ts'
import { createWebhooks } from '../../coordinator/webhooks/webhooks.ts'
import { WebhooksConfig } from '../../coordinator/webhooks/webhooks-config.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { logger } from '../coordinator/keys/fixtures.ts'
import { BY, temporaryStore } from '../coordinator/store/temporary.ts'
import { appWith, config, views } from './app.ts'
import { silent } from './cell.ts'
import { type TestConversing, testConversations } from './conversing.ts'

/** No worker runs: what is put into the queue stays there. */
const testDelivery = ({ ledger }: Store) =>
  webhookDelivery({
    config: WebhooksConfig.parse({}),
    ledger,
    sender: { send: () => Promise.reject(new Error('nothing is sent')) },
    sealing: sealingWith(randomBytes(32)),
    now: Date.now,
    disabled: () => {},
  })

export interface SceneOptions {
  /** Of the store. */
  folder?: string
  now?: () => number
  agents?: z.input<typeof AgentsConfig>
  alerts?: Alert[]
  /** Of visitors. */
  settings?: object
  conversing?: TestConversing
}

/** The server over a real store with the demo people, and a second tenant with its own operator. */
export const governanceScene = async (
  t: Pick<Test, 'teardown'>,
  {
    conversing,
    folder,
    now = Date.now,
    agents: agentSettings = {},
    alerts = [],
    settings = {},
  }: SceneOptions = {},
) => {
  const store = await temporaryStore(t, folder)
  const { keys: demo } = await bootstrap(store)
  const events: CloudEvent[] = []
  const publish = (type: string, data: unknown, subject?: string) => {
    const event = { type, data, subject } as CloudEvent
    events.push(event)
    return event
  }
  const keys = createKeys({ store, logger, now })
  await createTenant(store.ledger, { id: 'other', name: 'other' }, BY)
  await createPerson(store.ledger, { id: 'eve', tenantId: 'other', name: 'eve' }, BY)
  const spec = { tenantId: 'other', personId: 'eve', tier: 'enterprise' as const }
  const stranger = await keys.create({ ...spec, roles: ['client', 'operator_admin'] }, BY)
  const shipped = shippedGates()
  const configured = configuredPolicy(undefined, shipped)
  const policies = await openPolicies({
    ...{ store, configured, gates: shipped, publish, logger: silent },
  })
  const gates = createGates({
    ...{ store, now, publish },
    requireCurrent: policies.requireCurrent,
    signer: createSigner(generatePrivateKey()),
    get definitions() {
      return policies.current().gates
    },
  })
  const visitors = createVisitors({
    ...{ ledger: store.ledger, now },
    settings: VisitorSettings.parse({ public_tenant: 'demo', ...settings }),
  })
  const kinds = jobKinds([testDelivery(store)])
  const queue = createQueue({ ledger: store.ledger, kinds: () => kinds, now })
  const sealing = sealingWith(randomBytes(32))
  const sender = createSender({ config: Outbound.parse({}) })
  const pushConfigs = createPushConfigs({ ledger: store.ledger, sealing, sender })
  const webhooks = createWebhooks({
    ...{ store, queue, now, source: '/shoal/test' },
    config: WebhooksConfig.parse({}),
    ...{ sealing, sender },
  })
  const identity = { fingerprint: () => undefined } as unknown as Views['identity']
  const idempotency = createIdempotency({
    ...{ ledger: store.ledger, sealing, now, logger: silent },
  })
  const conversations = await testConversations(store, now, conversing)
  const agentsConfig = AgentsConfig.parse(agentSettings)
  const agents = createAgents({ store, config: agentsConfig, publish, now })
  const plane = openTaskPlane({
    ...{ config: config(), store, now, logger: silent },
    events: createEvents({ source: '/test', logger: silent }),
    operations: [...operations, ...skills],
    outward: { queue, pushConfigs },
    views: () => seen,
  })
  const seen = views({
    ...{ store, keys, visitors, gates, policies, identity, now, queue, webhooks, conversations },
    ...{ agents, tasks: plane.taskViews },
    fleet: { cell: () => undefined, cells: () => [], serves: id => id === 'model-a:7b' },
    monitor: { alerts: () => alerts, degraded: () => false } as unknown as Views['monitor'],
    cells: createCells({ store, logger }),
    listens: { loopbackOnly: true, encrypted: false },
    auditDays: 400,
    auditHead: () => undefined,
    declarations: {},
  })
  const app = await appWith({ keys, idempotency, views: seen, a2a: plane.a2a })
  t.teardown(async () => {
    keys.close()
    policies.close()
    await conversations.close()
    await plane.close()
    await app.close()
  })
  const call = async (
    key: string | undefined,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: object,
    more: Record<string, string> = {},
  ) => {
    const headers = {
      ...more,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
    }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const response = await app.inject({ method, url, headers, ...payload })
    const isJson = /^application\/json(;|$)/.test(String(response.headers['content-type']))
    const json = isJson ? response.json() : response.body
    return { status: response.statusCode, json, headers: response.headers }
  }
  const text = async (key: string, url: string) => {
    const response = await app.inject({ url, headers: { authorization: `Bearer ${key}` } })
    return [response.headers['content-type'], response.body]
  }
  return { demo: { ...demo, stranger: stranger.secret }, call, text, keys, store, agents, events }
}
