import { hash } from 'node:crypto'
import * as z from 'zod'
import { MODEL_KINDS, ModelId, TIER_NAMES } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { RegisteredModel } from '../../../../shared/wire/registered-models.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { UpstreamViews } from '../../../kernel/upstreams/open.ts'
import { CellRef } from '../../cells/cell-field.ts'
import type { FleetViews } from '../../cells/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { completeSource } from '../complete-source.ts'
import type { ModelViews } from '../open.ts'
import { describeModel, ModelDetails, requireCells } from './model-view.ts'
import { settleModel } from './settle-model.ts'

/** Checksum of an empty file. */
const SHA256_EXAMPLE = hash('sha256', '')

/** Tokens of one request where the operator names none; the file may allow less. */
const DEFAULT_CONTEXT = 4096

export default defineOperation({
  id: 'models-add',
  description:
    'Add a model to the catalogue, in force at once on the coordinators and cells: a GGUF file on the cells, of the hub, or of an https address.',
  method: 'POST',
  path: '/v1/catalogue',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  reasons: ['model_exists', 'egress_off'],
  tool: false,
  openWorld: true,
  status: 201,
  timeoutSeconds: 60,
  cli: { group: 'models', verb: 'add', words: ['model', 'source'] },
  input: z.strictObject({
    model: ModelId,
    source: z
      .string()
      .min(1)
      .max(1024)
      .exactOptional()
      .describe('hf:ORG/REPO/FILE.gguf[@REVISION], or an https address; or use path.'),
    path: z
      .string()
      .min(1)
      .max(1024)
      .exactOptional()
      .describe(
        'Absolute path of a GGUF file on the cells, such as `/srv/models/my-model.gguf`, in place of the source.',
      ),
    kind: z.enum(MODEL_KINDS).default('chat').describe('What the model is used for.'),
    tier: z.enum(TIER_NAMES).default('free').describe('Lowest tier whose keys may use it.'),
    context_length: z
      .int()
      .min(128)
      .max(10_000_000)
      .default(DEFAULT_CONTEXT)
      .describe(
        'Maximum tokens of one request, prompt and answer together; the file may allow fewer.',
      ),
    on: z
      .array(CellRef)
      .max(1000)
      .default([])
      .describe('Only these cells, by id or name; all by default.'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 lowercase hexadecimal digits' })
      .exactOptional()
      .describe(
        `Checksum of the file, as \`sha256sum\` prints it, such as \`${SHA256_EXAMPLE}\`; the hub has that of its files.`,
      ),
    unchecked: z.boolean().default(false).describe('Accept a download without a checksum.'),
    note: z.string().max(300).default('').describe('Shown in lists.'),
    owned_by: z.string().min(1).max(128).default('operator').describe('Shown as `owned_by`.'),
  }),
  answers: { kind: 'model_add' },
  output: ModelDetails,
  examples: [{ model: 'my-model', source: 'hf:org/repository/file.gguf', tier: 'free' }],
  run: async (
    input,
    context: Context & EnrolmentViews & FleetViews & ModelViews & UpstreamViews,
  ) => {
    const { model, on, kind, tier, context_length, note, owned_by } = input
    await requireCells(context, on)
    const { unchecked, sha256 } = input
    const named = {
      weights: chooseSource(input),
      ...(sha256 !== undefined && { sha256 }),
      ...(unchecked && { unchecked }),
    }
    const weights = await completeSource(named, context.upstreams, context.signal)
    const entry = toEntry({
      id: model,
      kind,
      minimum_tier: tier,
      context_length,
      note,
      owned_by,
      ...weights,
    })
    await context.models.change({ act: 'add', id: model, entry, cells: on }, context.actor)
    await settleModel(context, model)
    return describeModel(context, model)
  },
})

const chooseSource = ({
  source,
  path,
}: {
  source?: string | undefined
  path?: string | undefined
}): string => {
  if ((source === undefined) === (path === undefined))
    throw new ShoalError(
      'invalid_request',
      'name one source: hf:ORG/REPO/FILE, an https address, or --path with a file on the cells',
      { param: 'source' },
    )
  if (path === undefined) return requireSource(source as string)
  if (path.startsWith('/')) return path
  throw new ShoalError('invalid_request', 'the path of a file on the cells must be absolute', {
    param: 'path',
  })
}

const requireSource = (source: string): string => {
  const remedy = adviseOnSource(source)
  if (remedy === undefined) return source
  throw new ShoalError('invalid_request', `${JSON.stringify(source)} is not a source: ${remedy}`, {
    param: 'source',
  })
}

/** Advice on a source that is not in a known form; undefined for one that is. */
const adviseOnSource = (source: string): string | undefined => {
  if (/^(\/|[a-z][a-z0-9+.-]*:\/\/|(hf|bundled):)/i.test(source)) return undefined
  const isOnHub = /^[\w.-]+\/[\w.-]+(\/|$)/.test(source) && !source.startsWith('.')
  if (isOnHub && /\.gguf(@|$)/i.test(source) && source.split('/').length > 2)
    return `did you mean hf:${source}? A file on the cells has an absolute path`
  if (isOnHub) return `shoal models search ${quote(source)} lists the files of a hub repository`
  if (/\.gguf$/i.test(source)) return 'the path of a file on the cells must be absolute'
  return `models have no short names here; give hf:ORG/REPO/FILE.gguf, which shoal models search ${quote(source.split(':')[0] ?? '')} finds, an https address, or --path with a file on the cells`
}

const quote = (text: string): string => (/^[\w./-]+$/.test(text) ? text : '"…"')

const toEntry = (values: z.input<typeof RegisteredModel>): RegisteredModel => {
  const { data, error } = RegisteredModel.safeParse(values)
  if (data !== undefined) return data
  const [issue] = error.issues
  throw new ShoalError('invalid_request', issue?.message ?? 'the model cannot be added', {
    param: issue?.path[0] === 'weights' ? 'source' : String(issue?.path[0] ?? 'source'),
  })
}
