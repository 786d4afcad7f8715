import * as z from 'zod'
import type { AnswerRule } from '../../shared/answer-rule.ts'
import { valueAt } from '../../shared/success-rule.ts'
import type { DescribedOperation } from './document.ts'
import type { SentCommand } from './sent-command.ts'

/** An answer by the kind that its operation declares. */
export type KnownAnswer =
  | { kind: 'command' | 'device_command'; value: SentCommand }
  | { kind: 'estop'; value: Estop }
  | { kind: 'gate_request'; value: GateAnswer }
  | { kind: 'model_add' | 'model_pull'; value: Record<string, unknown> }
  | { kind: 'model_command' | 'model_load'; value: ModelAnswer }
  | { kind: 'task'; value: { id: string } }
  | { kind: 'begun_task'; value: { task_id: string } }
  /** An answer about devices that cannot be read: whether they are at rest is not known. */
  | { kind: 'unreadable' }
  /** An answer that informs, with nothing to wait for and no next step of its kind. */
  | { kind: 'other' }

/** A request at a gate, or an answer that waits for one. */
export interface GateAnswer {
  status: string
  /** Id of the request, in an answer that waits for it. */
  request_id?: string | null
  /** Id of the request, in its own view. */
  id?: string
  state?: string | null
  subject?: string
  requester?: string | null
  requester_id?: string
  /** Plan that people approve; its action tells which call carries it out. */
  plan?: { action?: unknown }
  /** Advice for a request that no person can approve; absent for others. */
  hint?: string
  waits_for?: 'gate' | 'supervisor' | null
}

export interface Estop {
  estop_id: string
  released_at: string | null
  /** Further stops of the same call; absent in the answer of a release. */
  also?: Estop[]
  cells: {
    missing: {
      cell_id: string
      name: string | null
      is_connected: boolean
      is_supported: boolean
    }[]
  }
}

/** Answer of `cells load`, `pin`, `unload` and `unpin`. */
export interface ModelAnswer {
  cell_id: string
  model: string
  state: string | null
  command_id: string
  command_state: string
}

/** Facts of an operation that tell the kind of its answers. */
export type KindFacts = Pick<DescribedOperation, 'answers' | 'isGated' | 'mode'>

/** The kind of an answer: a gated call may answer with a pending request in place of its output. */
export const classifyAnswer = (
  answer: unknown,
  { answers, isGated, mode }: KindFacts,
): KnownAnswer => {
  if (isGated && (answer as GateAnswer | undefined)?.status === 'pending')
    return toKnown('gate_request', answer)
  if (mode === 'task') return toKnown('begun_task', answer)
  if (answers === undefined) return { kind: 'other' }
  const value = answers.field === undefined ? answer : valueAt(answer, answers.field)
  // a dry run has no command
  const isDry = answers.field !== undefined && (value === null || value === undefined)
  return isDry ? { kind: 'other' } : toKnown(answers.kind, value)
}

/** Classifies an answer. An unexpected one informs, unless devices may still move after it. */
export const toKnown = (kind: keyof typeof SHAPES, value: unknown): KnownAnswer => {
  if (SHAPES[kind].safeParse(value).success) return { kind, value } as KnownAnswer
  return { kind: kind === 'estop' || kind === 'device_command' ? 'unreadable' : 'other' }
}

const Command = z.object({ id: z.string(), verb: z.string(), state: z.string() })
const Model = z.object({ cell_id: z.string(), model: z.string() })
const Stop = z.object({ cells: z.object({ missing: z.array(z.object({ cell_id: z.string() })) }) })

/** Members without which an answer of a kind cannot be followed or described. */
const SHAPES = {
  begun_task: z.object({ task_id: z.string() }),
  command: Command,
  device_command: Command,
  estop: Stop.extend({ also: z.array(Stop).optional() }),
  gate_request: z.object({ status: z.string() }),
  model_add: z.object({ id: z.string() }),
  model_command: Model.extend({ command_id: z.string(), command_state: z.string() }),
  model_load: Model,
  model_pull: z.object({ id: z.string(), cells: z.array(z.object({ cell_id: z.string() })) }),
  task: z.object({ id: z.string() }),
}

/** Tells whether the answer is a request that waits for approval. */
export const isPending = (known: KnownAnswer): known is KnownAnswer & { kind: 'gate_request' } =>
  known.kind === 'gate_request' && known.value.status === 'pending'

/** Id of a gate request; undefined before there is one. */
export const requestIdOf = ({ request_id, id }: GateAnswer): string | undefined =>
  request_id ?? id ?? undefined

/** Answers of a coordinator that declares no kinds. */
const OLDER: Readonly<Record<string, AnswerRule>> = {
  'POST /v1/cells/{cell_id}/commands': { kind: 'command' },
  'GET /v1/commands/{command_id}': { kind: 'command' },
  'POST /v1/devices/{device_id}/commands': { kind: 'device_command' },
  'POST /v1/devices/{device_id}/stop': { kind: 'device_command' },
  'POST /v1/devices/{device_id}/hold': { kind: 'device_command' },
  'POST /v1/devices/{device_id}/land': { kind: 'device_command' },
  'POST /v1/skills/device-command': { kind: 'device_command', field: 'outcome' },
  'POST /v1/skills/ros2-command': { kind: 'device_command', field: 'outcome' },
  'POST /v1/estop': { kind: 'estop' },
  'POST /v1/estop/release': { kind: 'estop' },
  'GET /v1/tasks/{task_id}': { kind: 'task' },
  'POST /v1/cells/{cell_id}/models/{model}/load': { kind: 'model_load' },
  'POST /v1/cells/{cell_id}/models/{model}/pin': { kind: 'model_load' },
  'POST /v1/cells/{cell_id}/models/{model}/unload': { kind: 'model_command' },
  'POST /v1/cells/{cell_id}/models/{model}/unpin': { kind: 'model_command' },
  'POST /v1/catalogue': { kind: 'model_add' },
  'PUT /v1/catalogue/{alias}/alias': { kind: 'model_add' },
  'POST /v1/catalogue/{model}/pull': { kind: 'model_pull' },
  'POST /v1/gates/{gate_id}/requests': { kind: 'gate_request' },
  'GET /v1/gates/requests/{request_id}': { kind: 'gate_request' },
  'POST /v1/gates/requests/{request_id}/approve': { kind: 'gate_request' },
  'POST /v1/skills/hitl-gate': { kind: 'gate_request' },
  'POST /v1/sessions/{session_id}/check': { kind: 'gate_request' },
}

/** Stops of a coordinator that does not declare which calls are urgent. */
const OLDER_STOPS: ReadonlySet<string> = new Set([
  'POST /v1/estop',
  ...['stop', 'hold', 'land'].map(verb => `POST /v1/devices/{device_id}/${verb}`),
])

/** Declaration of an operation whose coordinator is too old to publish one. */
export const olderDeclaration = (
  method: string,
  path: string,
): { answers: AnswerRule | undefined; isEmergency: boolean } => {
  const call = `${method} ${path}`
  return { answers: OLDER[call], isEmergency: OLDER_STOPS.has(call) }
}
