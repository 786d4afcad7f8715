import type * as z from 'zod'
import type { AnswerRule } from '../../../shared/answer-rule.ts'
import type { ErrorReason } from '../../../shared/error-reasons.ts'
import type { SizeUnit } from '../../../shared/probes/units.ts'
import type { SuccessRule } from '../../../shared/success-rule.ts'
import type { Role } from './key.ts'

/** Callers that are admitted: everyone, any key, or a key with one of the roles. */
type Access = 'none' | 'key' | 'operator'

/** Effect of a call: it reads, changes data of the coordinator, or acts on the world by a plan. */
type Effect = 'read' | 'write' | 'gated'

/** Notice that an operation will be removed. Dates are whole days, UTC: `2027-01-31`. */
export interface Deprecation {
  since: string
  /** Date of the removal, at least six months after `since`. */
  sunset: string
  /** Path of the successor, or of its documentation. */
  use: string
}

/**
 * Kind of response: the result, the id of a task that runs on its own (REST: 202), or progress
 * followed by the result (REST: server-sent events, for a client that accepts them).
 */
type Mode = 'sync' | 'task' | 'stream'

/**
 * The facts of an operation, without its behaviour: schema in, schema out, access and effect. Every
 * surface is a projection of the list of them; none knows an operation by name.
 */
export interface Declaration<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> {
  /** Wire id, also the name of its file: `cells-list`. */
  id: string
  /**
   * Toolset that it belongs to: stated by a skill (its family on the card); for the others the folder
   * of the file, set where the list is loaded.
   */
  group?: string
  /** One sentence for readers of a list of tools. */
  description: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** REST path; `{name}` takes the input field of that name. */
  path: string
  access: Access
  /** Roles of which any one suffices with access `operator`; every operator role when absent. */
  roles?: readonly Role[]
  effect: Effect
  /** Reasons of its errors, beside those of its access and of the gate. */
  reasons?: readonly ErrorReason[]
  /**
   * True for a call that only reduces risk and must not be refused: it is counted apart from all
   * other calls of its key, and repeated instead of answered from an idempotency record.
   */
  isEmergency?: true
  /** False keeps the operation away from language models: MCP has no tool of it. */
  tool?: false
  /** True when the call may reach beyond the fleet; gated operations always may. */
  openWorld?: boolean
  /** Snake case with units in the names; includes the fields of the path. */
  input: I
  output: O
  /** Valid inputs without the fields of the path; the first one is shown in the API document. */
  examples?: readonly object[]
  /** Time limit of a call; the default depends on the mode. */
  timeoutSeconds?: number
  /** Status of an answer on REST; 200 when absent. */
  status?: 201
  /** Data of the events that a call sends while it runs, to clients that accept `text/event-stream`. */
  events?: z.ZodType
  /** `sync` when absent. A2A makes a task of each. */
  mode?: Mode
  /** True when a task that a restart cut off may be started again with the same input. */
  resumable?: boolean
  /** True when the caller may name a cell beside the input: `?cell=`, `metadata.cell`. */
  onCell?: boolean
  /**
   * Id of the request at a gate that an output still waits for. Tasks wait for the decision and
   * make the call again after an approval.
   */
  waitsFor?: (output: z.output<O>) => string | undefined
  /** Place on the command line, where that does not follow from the id. */
  cli?: {
    group: string
    verb: string
    /** Input field that is the text of a file, which is the last argument there. */
    file?: string
    /** Input fields that are arguments there, after those of the path. */
    words?: readonly string[]
    /** Input field whose members are the last arguments there: `name=value`, or one JSON object. */
    pairs?: string
    /** Fields of the answer that are sizes and do not say so by their names, with their unit. */
    units?: Readonly<Record<string, SizeUnit>>
  }
  /**
   * REST sends the field `body` as it is, with the field `type` as its media type, unless that is
   * null. A non-null `next.field` is the start of the next page: the value of the input `next.input`.
   */
  text?: {
    body: string
    type: string
    /** Media types that it may have, without parameters. */
    types: readonly string[]
    next?: { field: string; input: string }
  }
  /**
   * Media types, without parameters, of an answer that is text of any length. The operation sends it
   * in parts by `tell`, with its media type as the event, and waits until each part was taken.
   */
  sendsText?: readonly string[]
  /**
   * Media types of a body that is a file and no JSON: REST receives it on the disk, and all other
   * input is in the path and query. The run reads it from `context.upload`.
   */
  upload?: readonly string[]
  deprecated?: Deprecation
  /**
   * Rule by which the answer tells whether the call has reached its goal, the same for the exit
   * code of the command line, flows, conversations, sessions, tasks and tools. Absent for an answer
   * that informs.
   */
  success?: SuccessRule
  /** Kind of the answer, where clients have a way of their own to go on after it. */
  answers?: AnswerRule
  /**
   * Line that tells a person how to go on after an answer. `{name}` takes a field of the answer, which
   * must have them all, and `{url}` the address of the coordinator.
   */
  next?: string
}

/** The facts of a skill: an operation that is on the agent card. */
export interface SkillFacts extends Declaration {
  /** Display name on the card. */
  name: string
  tags: readonly string[]
  /** Every skill is a tool: language models call skills in conversations and sessions too. */
  tool?: never
  /** Examples for the catalogue and the documents; the card omits them. */
  examples: readonly object[]
  /**
   * Reason why the answer is the same for every tenant and every store. Absent for a skill that
   * answers from data.
   */
  constantBecause?: string
  /** False keeps the schema off the card; the input is validated all the same. */
  publishesInput: boolean
  /** Further fields of the card. */
  card: { examples?: readonly string[]; endpoints?: Readonly<Record<string, string>> }
}

/** The names in a path template: `/v1/cells/{cell_id}` has `cell_id`. */
export const pathFields = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field)

/** Place on the command line: `cells-list` is `shoal cells list`. */
export const cliOf = ({
  id,
  cli,
}: Pick<Declaration, 'id' | 'cli'>): NonNullable<Declaration['cli']> => {
  const [group = id, ...verb] = id.split('-')
  return cli ?? { group, verb: verb.join(' ') || 'show' }
}

/** True for an operation that is a tool of MCP. */
export const isTool = ({ tool }: Pick<Declaration, 'tool'>): boolean => tool !== false

/** True for a call that leaves a trace in the audit: one that does more than read. */
export const isAudited = ({ effect }: Pick<Declaration, 'effect'>): boolean => effect !== 'read'
