import { pathFields } from '../../coordinator/kernel/declaration/declaration.ts'
import type { Operation } from '../../coordinator/kernel/declaration/operation.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import type { governanceScene } from './governance.ts'

/** Ids that name something of one tenant. */
const OWNED = [
  'request_id',
  'key_id',
  'person_id',
  'tenant_id',
  'job_id',
  'webhook_id',
  'conversation_id',
  'task_id',
  'session_id',
  'token_id',
  'node_id',
  'run_id',
] as const
type Owned = (typeof OWNED)[number]
/** Ids of what the whole service shares; operators of every tenant may see it. */
const SHARED = [
  'cell_id',
  'command_id',
  // devices belong to cells
  'device_id',
  'skill_id',
  'gate_id',
  'tag',
  'model',
  'alias',
  'alert_id',
  // below a task, which is looked at first
  'hook_id',
  // numbers of the one chain; the rows of others are not shown, see the tests of the audit
  'seq',
  'formation_id',
  // the surroundings of the cells belong to the fleet, as the cells do
  'entity_id',
  'pin_id',
  // a name that each tenant gives within its own graph, see the tests of the knowledge graph
  'layer_id',
  'register',
  // each tenant chooses the ids of its own records, see the tests of the registers
  'record_id',
  // flows are configuration
  'flow',
]

/** A call with an id of a tenant's, and whether nothing but 404 may answer it. */
interface Case {
  operation: Operation
  kind: Owned
  /** Address made of the id. */
  url: (id: string) => string
  body?: (id: string) => object
  headers?: (id: string) => Record<string, string>
  isPath: boolean
}

/** Fields beside the path that name something of a tenant's, as they are sent. */
const BESIDE: Record<string, { kind: Owned; value: (id: string) => unknown }> = {
  'keys-request person_id': { kind: 'person_id', value: id => id },
  'keys-request further_tenants': { kind: 'tenant_id', value: id => [id] },
  'cells-dedicate tenant_id': { kind: 'tenant_id', value: id => id },
  'gates-check request_id': { kind: 'request_id', value: id => id },
  'audit-query actor': { kind: 'key_id', value: id => `key:${id}` },
  'audit-query subject': { kind: 'request_id', value: id => id },
  'audit-export actor': { kind: 'key_id', value: id => `key:${id}` },
  'audit-export subject': { kind: 'request_id', value: id => id },
  'usage-list key_id': { kind: 'key_id', value: id => id },
  'multi-agent-conversation conversation_id': { kind: 'conversation_id', value: id => id },
  'tenant-health tenant_id': { kind: 'tenant_id', value: id => id },
  'usage-list tenant_id': { kind: 'tenant_id', value: id => id },
  'layer-query target_id': { kind: 'node_id', value: id => id },
}
/** Fields that name nothing of a tenant's, and why. */
const HARMLESS: Record<string, string> = {
  'devices-estop-release estop_id': 'e-stops are the fleet’s',
  'commands-list cell_id': 'cells are shared',
  'models-pull cell_id': 'cells are shared',
  'discovery-auto-run-set cell_id': 'cells are shared',
  'discovery-scope-add cell_id': 'cells are shared',
  'discovery-scope-remove cell_id': 'cells are shared',
  'commands-create device_id': 'devices belong to cells, which are shared',
  'device-status device_id': 'devices belong to cells, which are shared',
  'device-command device_id': 'devices belong to cells, which are shared',
  'ros2-command device_id': 'devices belong to cells, which are shared',
  'tasks-list context_id': 'a filter over the own tenant',
  'layer-query layer_id': 'a name that each tenant gives within its own graph',
  'gates-requests gate_id': 'gates are shared',
  'hitl-gate gate_id': 'gates are shared',
  'gate-routing-query gate_id': 'gates are shared',
  'policy-check actor_id': 'a label of the caller, looked up nowhere',
  'policy-checks actor_id': 'a label of the caller, looked up nowhere',
  'sessions-list agent_id': 'a label of the caller, looked up in the own tenant',
  'sessions-dock agent_id': 'a label of the caller, looked up in the own tenant',
  'agent-capability-check agent_id': 'a label of the caller, looked up in the own tenant',
  'find-agent agent_id': 'a label of the caller, looked up in the own tenant',
  'operator-peer agent_id': 'a label of the caller, looked up in the own tenant',
  'sads-discover agent_id': 'a label of the caller, looked up in the own tenant',
  'sads-dock agent_id': 'a label of the caller, looked up in the own tenant',
  'sessions-check request_id': "needs a session of one's own, see the tests of sessions",
  'sessions-claim task_id': 'a label, looked up nowhere',
  'sessions-dock profile_id': 'profiles are configuration',
  'sads-dock profile_id': 'profiles are configuration',
  'operator-peer session_id': 'see the tests of operator-peer',
  'operator-peer peer_session_id': 'see the tests of operator-peer',
  'cockpit-health-check service_id': 'services are configuration',
  'repair-trigger service_id': 'services are configuration',
  'repair-trigger incident_id': 'a label of the caller, looked up nowhere',
  'synergy-trigger synergy_id': 'synergies are configuration',
  'gates-request subject': "the caller's own words",
}
const LOOKS_LIKE_AN_ID = /_id$|^further_tenants$|^subject$|^actor$/

const all: readonly Operation[] = [...operations, ...skills]

const inputFieldsOf = ({ input, path }: Operation): string[] =>
  Object.keys(input.shape).filter(name => !pathFields(path).includes(name))

/** Fields that may hold an id of which nobody has said whose it is. */
export const listUndecidedFields = (): string[] => [
  ...all
    .flatMap(({ path }) => pathFields(path))
    .filter(field => !SHARED.includes(field) && !(OWNED as readonly string[]).includes(field)),
  ...all
    .flatMap(operation => inputFieldsOf(operation).map(field => `${operation.id} ${field}`))
    .filter(field => LOOKS_LIKE_AN_ID.test(field.split(' ')[1] ?? ''))
    .filter(field => !(field in BESIDE) && !(field in HARMLESS)),
]

/** Input that the fields beside the id need. */
const REST: Record<string, unknown> = {
  plan: 1,
  reason: 'x',
  claim_token: 'x',
  tier: 'free',
  exclusive: false,
  content: 'x',
  participants: [{ id: 'ada', type: 'person' }],
  scope: 'x',
  action_type: 'read.x',
  skill: 'policy-check',
  summary: 'x',
  url: 'https://hooks.acme-corp.com/x',
}
/** Fields that have another meaning in others. */
const OWN_REST: Record<string, object> = {
  'multi-agent-conversation': { action: 'message' },
  'tasks-update': { state: 'done' },
  'layer-query': { query_type: 'deps' },
}

const defaultInputOf = ({ id, input, method }: Operation): object =>
  method === 'GET'
    ? {}
    : {
        ...Object.fromEntries(Object.entries(REST).filter(([name]) => name in input.shape)),
        ...OWN_REST[id],
      }

const pathOf = ({ path }: Operation, field = '', id = ''): string =>
  path.replace(`{${field}}`, encodeURIComponent(id)).replace(/\{\w+\}/g, 'gate.production-deploy')

const pathCases = (operation: Operation): Case[] =>
  pathFields(operation.path)
    .filter((field): field is Owned => (OWNED as readonly string[]).includes(field))
    .map(kind => ({
      operation,
      kind,
      isPath: true,
      url: id => pathOf(operation, kind, id),
      body: () => defaultInputOf(operation),
    }))

const inputCases = (operation: Operation): Case[] =>
  inputFieldsOf(operation).flatMap(field => {
    const found = BESIDE[`${operation.id} ${field}`]
    if (found === undefined) return []
    const { kind, value } = found
    const isQuery = operation.method === 'GET'
    const query = (id: string) => `?${new URLSearchParams({ [field]: String(value(id)) })}`
    return [
      {
        operation,
        kind,
        isPath: false,
        url: (id: string) => pathOf(operation) + (isQuery ? query(id) : ''),
        body: (id: string) => ({ ...defaultInputOf(operation), [field]: value(id) }),
      },
    ]
  })

/** Every operation may be asked for another tenant. */
const tenantCase = (operation: Operation): Case => ({
  operation,
  kind: 'tenant_id',
  isPath: false,
  url: () => pathOf(operation),
  body: () => defaultInputOf(operation),
  headers: id => ({ 'x-svc-tenant': id }),
})

/** Every call that takes an id of a tenant's: in its path, beside it, or in X-SVC-Tenant. */
export const foreignCases = (): Case[] =>
  all.flatMap(operation => [
    ...pathCases(operation),
    ...inputCases(operation),
    tenantCase(operation),
  ])

/** What operations need before they look for the id. */
type Scene = Awaited<ReturnType<typeof governanceScene>>
type Below = (limit: number) => number

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const absentLike = (id: string, below: Below): string => {
  const [prefix = '', rest] = id.includes('_') ? id.split('_') : ['', id]
  const random = Array.from({ length: rest?.length ?? 8 }, () => LETTERS[below(LETTERS.length)])
  return (prefix === '' ? '' : `${prefix}_`) + random.join('')
}

const idsOf = async ({ demo, call, flows }: Scene): Promise<Record<Owned, string[]>> => {
  const ids: string[] = []
  const hooks: string[] = []
  const jobs: string[] = []
  const conversations: string[] = []
  const tasks: string[] = []
  const sessions: string[] = []
  const tokens: string[] = []
  for (let n = 0; n < 5; n++) {
    const asked = await call(demo.operator, 'POST', '/v1/keys', { tier: 'free', label: `k${n}` })
    ids.push(asked.json.request_id)
    const hook = { url: `https://hooks.acme-corp.com/${n}` }
    const { id } = (await call(demo.operator, 'POST', '/v1/webhooks', hook)).json
    hooks.push(id)
    const tested = await call(demo.operator, 'POST', `/v1/webhooks/${id}/test`)
    jobs.push(tested.json.job_id)
    const talk = { participants: [{ id: 'ada', type: 'person' }] }
    const begun = await call(demo.operator, 'POST', '/a2a/conversations', talk)
    conversations.push(begun.json.id)
    tokens.push((await call(demo.operator, 'POST', '/v1/tokens', {})).json.id)
  }
  for (let n = 0; n < 5; n++) {
    const docked = await call(demo.operator, 'POST', '/v1/sessions', { agent_id: `a${n}` })
    sessions.push(docked.json.session_id)
  }
  for (let n = 0; n < 3; n++) {
    const part = { text: 'policy-check {}' }
    const message = { messageId: `m${n}`, role: 'ROLE_USER', parts: [part] }
    const sent = { jsonrpc: '2.0', id: n, method: 'SendMessage', params: { message } }
    tasks.push((await call(demo.operator, 'POST', '/a2a', sent)).json.result.task.id)
  }
  const nodes = ['service:alpha1', 'service:alpha2', 'service:alpha3']
  const text = JSON.stringify({ nodes: nodes.map(id => ({ id })) })
  await call(demo.operator, 'POST', '/v1/graph/layers/landscape', { text })
  const listIds = async (what: string): Promise<string[]> =>
    (await call(demo.operator, 'GET', `/v1/${what}`)).json[what].map(({ id }: Id) => id)
  const keyIds = await listIds('keys')
  const starter = { tenantId: 'demo', keyId: keyIds[0] ?? '', requestId: 'req', actor: 'test' }
  const step = { id: 'a', skill: 'flow-status', input: {}, when: [], on_failure: 'stop' as const }
  const run = await flows.start({ flowId: 'a', cost_eur: 0, steps: [step] }, starter)
  return {
    request_id: ids,
    key_id: keyIds,
    person_id: await listIds('persons'),
    tenant_id: await listIds('tenants'),
    webhook_id: hooks,
    job_id: jobs,
    conversation_id: conversations,
    task_id: tasks,
    session_id: sessions,
    token_id: tokens,
    node_id: nodes,
    run_id: [run.id],
  }
}
type Id = { id: string }

/** Times and numbers that differ from one call to the next, whatever the id. */
const PASSING = /\d{4}-\d{2}-\d{2}T[\d:.]+Z/g

/**
 * Makes reads and writes as a stranger with ids of another tenant, from `first` in the list of all
 * cases on. Answers what went wrong: something else than 404 for an id in a path or 403 for a
 * tenant, or an answer that differs from that for an id that does not exist.
 */
export const foreignCalls = async (
  scene: Scene,
  { count, below, first = 0 }: { count: number; below: Below; first?: number },
): Promise<string[]> => {
  const { demo, call } = scene
  const ids = await idsOf(scene)
  const cases = foreignCases()
  const faults: string[] = []
  for (let n = first; n < first + count; n++) {
    const each = cases[n % cases.length] as Case
    const { operation, kind, url, body, headers, isPath } = each
    const foreign = ids[kind][below(ids[kind].length)] as string
    const callWith = async (id: string) => {
      const method = operation.method
      const sent = method === 'GET' || method === 'DELETE' ? undefined : body?.(id)
      const answer = await call(demo.stranger, method, url(id), sent, headers?.(id))
      const text = JSON.stringify(answer.json).replaceAll(id, 'ID').replaceAll(PASSING, 'T')
      return { ...answer, text }
    }
    const [theirs, nothing] = [await callWith(foreign), await callWith(absentLike(foreign, below))]
    const wanted = isPath ? 404 : headers && 403
    const isRight = wanted === undefined || theirs.status === wanted
    if (!isRight || theirs.status !== nothing.status || theirs.text !== nothing.text)
      faults.push(
        `${operation.id} (${kind}): ${theirs.status} ${theirs.text} but ${nothing.status} ${nothing.text}`,
      )
  }
  return faults
}
