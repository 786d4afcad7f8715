import * as z from 'zod'
import { AnswerRule } from '../../shared/answer-rule.ts'
import { ShoalError } from '../../shared/errors.ts'
import { SuccessRule } from '../../shared/success-rule.ts'
import { olderDeclaration } from './known-answer.ts'

/** A word of a command. The document comes over the network and is shown on a terminal. */
const Word = z.string().regex(/^[a-z0-9][\w-]{0,63}$/i)
const Name = z.string().regex(/^[a-z]\w{0,63}$/i)

export const FieldSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  items: z
    .looseObject({ type: z.unknown().optional(), enum: z.array(z.unknown()).optional() })
    .optional(),
  additionalProperties: z.unknown().optional(),
  get anyOf() {
    return z.array(FieldSchema).optional()
  },
})
export type FieldSchema = z.infer<typeof FieldSchema>

/** Exit codes by the value of one field of the answer, from a coordinator without success rules. */
const ExitCodes = z
  .object({ field: Name, codes: z.record(z.string(), z.int().min(0).max(125)) })
  .transform(({ field, codes }): SuccessRule => ({ field, codes: { ...codes, '*': 0 } }))

const Described = z.object({
  summary: z.string().default(''),
  parameters: z
    .array(
      z.object({
        name: z.string().regex(/^[a-z][\w-]{0,63}$/i),
        in: z.enum(['path', 'query', 'header', 'cookie']),
        required: z.boolean().default(false),
        description: z.string().optional(),
        schema: FieldSchema.default({}),
        'x-shoal-needed': z.boolean().optional(),
      }),
    )
    .default([]),
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({
          example: z.record(z.string(), z.unknown()).optional(),
          schema: z.object({
            properties: z.record(Name, FieldSchema).default({}),
            required: z.array(z.string()).default([]),
          }),
        }),
      }),
    })
    .optional(),
  'x-shoal-effect': z.string().optional(),
  'x-shoal-mode': z.string().optional(),
  'x-shoal-success': SuccessRule.optional(),
  // a kind that only a newer program knows is none here
  'x-shoal-answer': AnswerRule.optional().catch(undefined),
  'x-shoal-emergency': z.boolean().optional(),
  'x-shoal-next': z.string().max(500).optional(),
  'x-shoal-cli': z.object({
    group: Word,
    verb: z
      .string()
      .transform(text => text.split(' '))
      .pipe(z.array(Word).min(1).max(4)),
    arguments: z.array(Name),
    exit: ExitCodes.optional(),
    file: Name.optional(),
    upload: z.boolean().default(false),
    words: z.array(Name).default([]),
    pairs: Name.optional(),
    is_text: z.boolean().default(false),
    units: z.record(z.string(), z.string()).default({}),
  }),
})

const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })

/** One value that a command takes, and where it travels. */
export interface Field {
  name: string
  place: 'query' | 'body'
  required: boolean
  schema: FieldSchema
}

/** One operation of the coordinator, as the command line needs it. */
export interface DescribedOperation {
  method: string
  path: string
  summary: string
  /** `['cells', 'list']` */
  words: string[]
  /** True for a call whose body is the file that the last argument names. */
  takesUpload: boolean
  /** Fields of the path, in order. */
  arguments: string[]
  /** Help text per argument. */
  argumentNotes: Record<string, string>
  fields: Field[]
  /** Fields that are arguments too, after those of the path. */
  inputWords: string[]
  /** The field whose members are the last arguments: `name=value`, or one JSON object. */
  pairs: string | undefined
  /** True for a call that must not happen twice: it is sent with an idempotency key. */
  needsCallKey: boolean
  /** Rules for the answer; the exit code is that of the first one that it does not meet. */
  success: readonly SuccessRule[]
  /** Kind of the answer, for what follows it. */
  answers: AnswerRule | undefined
  /** Flag of a call that may answer with a pending request at a gate. */
  isGated: boolean
  /** Flag of a call that brings devices to rest. */
  isEmergency: boolean
  /** Line to show after the answer, with places `{name}` for its fields. */
  next?: string | undefined
  /** The field that is the text of a file, named by the last argument. */
  file: string | undefined
  /** Fields of the answer that are sizes, with their unit: bytes, bytes/s, KiB or MiB. */
  units: Record<string, string>
  /** True for an answer that is text of any length. */
  isText: boolean
  /** `task`: it answers with the id of a task, and is done later. */
  mode: string | undefined
  /** A body that works. */
  example: Record<string, unknown> | undefined
}

/** The operations of an API document that have a place on the command line. */
export const operationsOf = (document: unknown): DescribedOperation[] => {
  const { data, error } = Document.safeParse(document)
  if (error) throw new ShoalError('internal', 'the API document cannot be read', { cause: error })
  return Object.entries(data.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, value]) => {
      const described = Described.safeParse(value)
      return described.success ? [operationOf(method, path, described.data)] : []
    }),
  )
}

const operationOf = (
  method: string,
  path: string,
  described: z.output<typeof Described>,
): DescribedOperation => {
  const { summary, parameters, requestBody, 'x-shoal-cli': cli, 'x-shoal-mode': mode } = described
  const { schema: body, example } = requestBody?.content['application/json'] ?? {}
  const query = parameters.filter(parameter => parameter.in === 'query')
  const older = olderDeclaration(method.toUpperCase(), path)
  return {
    method: method.toUpperCase(),
    path,
    summary,
    words: [cli.group, ...cli.verb],
    takesUpload: cli.upload,
    arguments: cli.arguments,
    argumentNotes: Object.fromEntries(
      parameters.map(({ name, description = '' }) => [name, description]),
    ),
    inputWords: cli.words,
    pairs: cli.pairs,
    needsCallKey: parameters.some(parameter => parameter['x-shoal-needed'] === true),
    success: [cli.exit, described['x-shoal-success']].filter(rule => rule !== undefined),
    answers: described['x-shoal-answer'] ?? older.answers,
    isGated: described['x-shoal-effect'] === 'gated',
    isEmergency: described['x-shoal-emergency'] ?? older.isEmergency,
    next: described['x-shoal-next'],
    file: cli.file,
    units: cli.units,
    isText: cli.is_text,
    mode,
    example,
    fields: [
      ...query.map(({ name, required, description, schema }): Field => {
        const said = description === undefined ? {} : { description }
        return { name, place: 'query', required, schema: { ...schema, ...said } }
      }),
      ...Object.entries(body?.properties ?? {}).map(
        ([name, schema]): Field => ({
          name,
          place: 'body',
          required: body?.required.includes(name) ?? false,
          schema,
        }),
      ),
    ],
  }
}
