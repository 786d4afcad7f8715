import type { DemoName } from '../../../coordinator/access/keys/bootstrap.ts'

/** Ids of what exists by now, by the field of a path that takes them. */
export type Known = Record<string, string>

/** Call of an operation, where its first example and the known ids are not enough. */
export interface OperationCall {
  id: string
  by?: DemoName
  /** Input, with the fields of the path; in place of the first example. */
  input?: Record<string, unknown> | ((known: Known) => Record<string, unknown>)
  upload?: { type: string; text: string }
  /** Names under which an id of the answer is known afterwards: field of the answer by field of a path. */
  learn?: Record<string, string>
  /** True for a call that only prepares a later one of the same operation. */
  isPreparation?: true
}

const MINOR = { gate_id: 'gate.minor-release-approve' }
const RELEASE = { release: '1.5.0' }
const REQUEST = { request_id: 'id' }
const COSTS = 'id,category,name,amount_eur,started_on\r\nlines,network,Lines,99,2026-02-01\r\n'
const PORTAL = { name: 'Portal', kind: 'http', url: 'https://portal.example' }
const HOOK = { url: 'https://hooks.acme-corp.com/shoal', types: ['shoal.gate.*'] }
const DRIVE = { command: 'drive', params: { heading_degrees: 90, speed_m_s: 0.5, duration_s: 2 } }

/**
 * Calls in the order of a story in which each finds what it needs. Every other operation is called
 * after it with its first example: reads, then changes, then deletions.
 */
export const STORY: readonly OperationCall[] = [
  { id: 'alerts-list', learn: { alert_id: 'alerts.0.id' } },
  { id: 'cells-list', learn: { cell_id: 'cells.0.id' } },
  { id: 'devices-list', learn: { device_id: 'devices.0.device_id' } },
  { id: 'conversations-list', learn: { conversation_id: 'conversations.0.id' } },
  {
    id: 'discovery-entities',
    learn: {
      entity_id: 'entities.0.entity_id',
      other: 'entities.1.entity_id',
      last: 'entities.2.entity_id',
    },
  },
  { id: 'queue-list', learn: { job_id: 'jobs.0.id' } },
  { id: 'swarm-list', learn: { formation_id: 'formations.0.formation_id' } },
  { id: 'graph-nodes', learn: { node_id: 'nodes.0.node_id' } },
  { id: 'flows-runs', learn: { run_id: 'runs.0.run_id' } },
  { id: 'people-export', input: { person_id: 'p-02' } },
  { id: 'people-erase', input: { person_id: 'p-03' } },
  {
    id: 'gates-request',
    input: { ...MINOR, plan: RELEASE, summary: 'Release 1.5.0' },
    learn: REQUEST,
  },
  { id: 'gates-show' },
  { id: 'gates-approve', by: 'approver_a' },
  { id: 'gates-consume', input: { plan: RELEASE } },
  {
    id: 'gates-request',
    isPreparation: true,
    input: { ...MINOR, plan: 'b', summary: 'b' },
    learn: REQUEST,
  },
  { id: 'gates-reject', by: 'approver_a', input: { reason: 'The tests are red.' } },
  {
    id: 'gates-request',
    isPreparation: true,
    input: { ...MINOR, plan: 'c', summary: 'c' },
    learn: REQUEST,
  },
  { id: 'gates-withdraw' },
  {
    id: 'keys-request',
    input: { tier: 'pro', label: 'A dashboard' },
    learn: { request_id: 'request_id' },
  },
  { id: 'gates-approve', by: 'approver_a', isPreparation: true },
  { id: 'keys-reveal', learn: { key_id: 'id' } },
  { id: 'keys-list' },
  { id: 'keys-rotate' },
  { id: 'tokens-create', learn: { token_id: 'id' } },
  { id: 'persons-create', input: { name: 'Ada of the workshop' } },
  { id: 'tenants-create', input: { name: 'A club' }, learn: { tenant_id: 'id' } },
  { id: 'tenants-disable' },
  { id: 'tenants-enable' },
  { id: 'webhooks-create', input: HOOK, learn: { webhook_id: 'id' } },
  {
    id: 'sessions-dock',
    input: { agent_id: 'walker', role: 'coding' },
    learn: { session_id: 'session_id' },
  },
  { id: 'sessions-brief' },
  { id: 'sessions-claim' },
  { id: 'tasks-update', input: { task_id: 'API-12', scope: 'repo:api', state: 'in_review' } },
  { id: 'sessions-check' },
  { id: 'sessions-execute' },
  { id: 'sessions-evidence' },
  { id: 'discovery-run', learn: { task_id: 'task_id' } },
  { id: 'tasks-hooks-create', learn: { hook_id: 'id' } },
  { id: 'tasks-cancel' },
  { id: 'discovery-pin', learn: { pin_id: 'pin_id' } },
  { id: 'discovery-unpin', by: 'approver_b' },
  { id: 'discovery-forget', input: ({ last = '' }) => ({ entity_id: last }) },
  { id: 'discovery-merge', input: ({ other = '' }) => ({ other }) },
  {
    id: 'registers-import',
    input: { register: 'costs' },
    upload: { type: 'text/csv', text: COSTS },
  },
  { id: 'registers-put', input: { register: 'services', record_id: 'portal', record: PORTAL } },
  {
    id: 'graph-import',
    input: { layer_id: 'suppliers', text: '{"nodes":[{"id":"service:crm"}]}' },
  },
  { id: 'models-alias', input: { alias: 'assistant', model: 'model-a:7b' } },
  { id: 'flows-run', input: { flow: 'evening-round' }, learn: { run_id: 'run_id' } },
  { id: 'flows-cancel' },
  { id: 'devices-plan', input: { ...DRIVE, device_id: 'rover-1' } },
  { id: 'devices-run', input: { ...DRIVE, device_id: 'rover-1' } },
  { id: 'swarm-plan' },
  { id: 'swarm-clearance' },
  { id: 'devices-estop', learn: { estop_id: 'estop_id' } },
  {
    id: 'devices-estop-release',
    input: ({ estop_id = '' }) => ({ estop_id, reason: 'The smoke has cleared.' }),
  },
  { id: 'cells-series', input: { metric: 'gpu_percent' } },
  { id: 'cells-config-set', input: { document: { telemetry: { interval_seconds: 10 } } } },
  { id: 'tags-config-set', input: { tag: 'workshop', document: { log: { level: 'info' } } } },
  { id: 'cells-label', input: { labels: { hall: '2' } } },
  { id: 'policy-show', learn: { policy: 'document' } },
  {
    id: 'policy-change',
    input: ({ policy = '' }) => ({ document: policy, reason: 'The night shift may restart.' }),
  },
  { id: 'host-inet-checksite', input: { url: 'https://portal.example' } },
  { id: 'host-inet-latency', input: { host: 'portal.example' } },
  { id: 'host-process-load', input: { names: 'shoald' } },
  { id: 'discovery-scope-add' },
  { id: 'sessions-show' },
  { id: 'sessions-undock' },
  { id: 'models-remove', by: 'approver_b', input: { model: 'assistant' } },
  { id: 'discovery-scope-remove', by: 'approver_b', input: { target: '192.168.1.0/24' } },
]

/** Operations that this scene cannot answer, with the reason. */
export const NOT_ANSWERED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...['cells-load', 'cells-unload', 'cells-pin', 'cells-unpin', 'models-pull'],
      ...['cells-metrics', 'commands-create', 'commands-show', 'swarm-run', 'devices-envelope'],
    ].map(id => [id, 'the cell of the scene answers for its devices and modules only']),
  ),
  ...Object.fromEntries(
    ['mqtt-allowed', 'mqtt-brokers', 'mqtt-retained', 'mqtt-topics', 'mqtt-publish'].map(id => [
      id,
      'the cell of the scene has no broker',
    ]),
  ),
  'models-add': 'the hub of the scene has no files',
  'cells-release': 'no cell of the scene is in quarantine',
  'discovery-split': 'no entity of the scene was merged by mistake',
  'keys-apply': 'a caller with a key is no visitor',
  'keys-claim': 'a caller with a key is no visitor',
  'queue-cancel': 'the jobs of the scene are flows, which are cancelled as such',
  'queue-retry': 'no job of the scene was given up',
  'queue-discard': 'no job of the scene has ended',
  'swarm-abort': 'no formation of the scene is under way',
}

/** Path fields whose value no answer gives. */
export const FIXED: Known = {
  gate_id: 'gate.minor-release-approve',
  skill_id: 'vram-guard',
  model: 'model-a:7b',
  register: 'costs',
  record_id: 'lines',
  layer_id: 'suppliers',
  alias: 'assistant',
  flow: 'evening-round',
  tag: 'workshop',
  seq: '3',
  person_id: 'demo_free',
}
