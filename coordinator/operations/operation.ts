import type * as z from 'zod'
import type { SizeUnit } from '../../shared/probes/units.ts'
import type { Role } from '../keys/key.ts'
import type { Access, Effect } from './access.ts'
import type { Context } from './context.ts'
import type { Pending } from './pending.ts'

export type { Access, Effect } from './access.ts'

/** It will go away; what it does is done elsewhere. Dates are whole days, UTC: `2027-01-31`. */
export interface Deprecation {
  since: string
  /** At least six months later. */
  sunset: string
  /** Path of what takes its place, or of what is written about it. */
  use: string
}

/**
 * How it is waited for: the answer comes at once, from a task that goes on by itself (REST answers
 * 202 with its id), or at once with progress before it (REST sends events to who accepts them).
 */
export type Mode = 'sync' | 'task' | 'stream'

/**
 * Anything the coordinator can be asked, the OpenAI routes aside: schema in, schema out, access and
 * effect. Every surface is a projection of the list of them; none knows one by name.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> {
  /** Wire id, also the name of its file: `cells-list`. */
  id: string
  /** The folder of its file, set where the list is loaded: what belongs together. */
  group?: string
  /** One sentence for people who read a list of tools. */
  description: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** REST path; `{name}` takes the input field of that name. */
  path: string
  access: Access
  /** With access `operator`: any one of these; every operator role when absent. */
  roles?: readonly Role[]
  effect: Effect
  /** It may ask or tell something beyond the fleet; those that are gated always may. */
  openWorld?: boolean
  /** Snake case and units in the names. The fields of the path are part of it. */
  input: I
  output: O
  /** Inputs that work, without the fields of the path; the first one is shown in the API document. */
  examples?: readonly object[]
  /** Longest time it may take. */
  timeoutSeconds?: number
  /** Of an answer on REST; 200 when absent. */
  status?: 201
  /** Data of what it tells while it runs, to who accepts `text/event-stream`. */
  events?: z.ZodType
  /** `sync` when absent. A2A makes a task of each. */
  mode?: Mode
  /** A task of it that a restart cut off may be begun again with the same input. */
  resumable?: boolean
  /** It takes a cell to run on beside its input: `?cell=`, `metadata.cell`. */
  onCell?: boolean
  /**
   * Id of the request at a gate that an output still waits for. Tasks wait for the decision and
   * ask again when it was a yes.
   */
  waitsFor?: (output: z.output<O>) => string | undefined
  /** Where the command line has it, when that does not follow from the id. */
  cli?: {
    group: string
    verb: string
    /** The input field that is the text of a file, which is the last argument there. */
    file?: string
    /** Fields of the answer that are sizes and do not say so by their names, with their unit. */
    units?: Readonly<Record<string, SizeUnit>>
  }
  /**
   * REST sends one field of the answer as it is, with another as its type, unless that is null. A
   * third, when it is not null, is where the next page begins: the value of that input field.
   */
  text?: { body: string; type: string; next?: { field: string; input: string } }
  deprecated?: Deprecation
  /** Exit codes of the command line for values of one field of the answer; 0 for others. */
  exit?: { field: string; codes: Readonly<Record<string, number>> }
  /** A gated one answers `Pending` as long as people have not approved it. */
  run: (
    input: z.output<I>,
    context: Context,
  ) => Promise<z.input<O> | Pending> | z.input<O> | Pending
}

/** One declaration, checked: every `{field}` of the path must be in the input. */
export const defineOperation = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
): Operation => {
  for (const field of pathFields(operation.path))
    if (!(field in operation.input.shape))
      throw new TypeError(`${operation.id}: ${field} of the path is not in the input`)
  if (operation.deprecated !== undefined) requireNotice(operation.id, operation.deprecated)
  return operation as unknown as Operation
}

/** Six months, the shortest ones. */
const NOTICE_MS = 181 * 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

const requireNotice = (id: string, { since, sunset }: Deprecation): void => {
  const noticeMs = Date.parse(sunset) - Date.parse(since)
  if (!DAY.test(since) || !DAY.test(sunset) || !(noticeMs >= NOTICE_MS))
    throw new TypeError(`${id}: between ${since} and ${sunset} are no six months`)
}

/** The names in a path template: `/v1/cells/{cell_id}` has `cell_id`. */
export const pathFields = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field)

/** Its place on the command line: `cells-list` is `shoal cells list`. */
export const cliOf = ({
  id,
  cli,
}: Pick<Operation, 'id' | 'cli'>): NonNullable<Operation['cli']> => {
  const [group = id, ...verb] = id.split('-')
  return cli ?? { group, verb: verb.join(' ') || 'show' }
}
