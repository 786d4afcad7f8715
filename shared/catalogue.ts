import * as z from 'zod'
import { parseWeightsSource } from './weights-source.ts'

export const TIER_NAMES = ['free', 'pro', 'enterprise'] as const
export type TierName = (typeof TIER_NAMES)[number]

export const MODEL_KINDS = ['chat', 'embedding', 'rerank'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** Value of `model` with which clients let the cascade choose a model; no model can have this id. */
export const AUTO_MODEL = 'auto'

/** Why no model can have an id; undefined for an id that one can have. */
export const describeReservedId = (id: string): string | undefined =>
  id === AUTO_MODEL
    ? `${id} is reserved: requests for it let the coordinator choose a model; choose another id`
    : undefined

export const ModelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._:/-]{0,127}$/i, {
    error: 'must begin with a letter or digit and may contain letters, digits and . _ : / -',
  })
  .describe('Id that clients send as `model`.')

/** A model id that clients may name. */
export const CatalogueEntry = z.strictObject({
  id: ModelId,
  kind: z.enum(MODEL_KINDS),
  minimum_tier: z.enum(TIER_NAMES),
  weights: z
    .string()
    .min(1)
    .max(2048)
    .superRefine((text, context) => {
      try {
        parseWeightsSource(text)
      } catch (error) {
        context.addIssue((error as Error).message)
      }
    })
    .describe(
      '`bundled:<id>` for weights shipped with shoal, the path of a GGUF file, ' +
        '`hf:owner/repository/file.gguf[@revision]`, or an https address of one.',
    ),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 lowercase hexadecimal digits' })
    .optional()
    .describe(
      'Checksum of the weights. Required for downloaded weights unless `unchecked`; ' +
        'bundled weights carry their own.',
    ),
  unchecked: z.boolean().optional().describe('True accepts downloaded weights without a sha256.'),
  context_length: z.int().min(128).describe('Most tokens of one request: prompt and answer.'),
  note: z.string().default(''),
  typical_latency_ms: z.int().positive().optional(),
  owned_by: z.string().default('shoal'),
})
export type CatalogueEntry = z.infer<typeof CatalogueEntry>

const CONTEXT = 2048

/**
 * Default catalogue: the ids of the interface specification on the bundled demonstration weights.
 * Operators replace `weights` (and the rest) in the configuration.
 */
export const SHIPPED_CATALOGUE: z.input<typeof CatalogueEntry>[] = [
  {
    id: 'model-a:7b',
    kind: 'chat',
    minimum_tier: 'free',
    weights: 'bundled:shoal-demo-large',
    context_length: CONTEXT,
    note: 'Best all-round.',
    typical_latency_ms: 250,
  },
  {
    id: 'model-b:3b',
    kind: 'chat',
    minimum_tier: 'pro',
    weights: 'bundled:shoal-demo-small',
    context_length: CONTEXT,
    note: 'Fastest.',
    typical_latency_ms: 100,
  },
  {
    id: 'model-c:7b',
    kind: 'chat',
    minimum_tier: 'pro',
    weights: 'bundled:shoal-demo-large',
    context_length: CONTEXT,
    note: 'European origin.',
    typical_latency_ms: 220,
  },
  {
    id: 'model-d:9b',
    kind: 'chat',
    minimum_tier: 'pro',
    weights: 'bundled:shoal-demo-large',
    context_length: CONTEXT,
    note: 'Good for question answering.',
    typical_latency_ms: 300,
  },
  {
    id: 'model-e:70b',
    kind: 'chat',
    minimum_tier: 'enterprise',
    weights: 'bundled:shoal-demo-large',
    context_length: CONTEXT,
    note: 'Best quality.',
    typical_latency_ms: 800,
  },
  {
    id: 'model-f:72b',
    kind: 'chat',
    minimum_tier: 'enterprise',
    weights: 'bundled:shoal-demo-large',
    context_length: CONTEXT,
  },
  {
    id: 'embed-a',
    kind: 'embedding',
    minimum_tier: 'pro',
    weights: 'bundled:shoal-demo-embed',
    context_length: CONTEXT,
  },
  {
    id: 'embed-b:8b',
    kind: 'embedding',
    minimum_tier: 'pro',
    weights: 'bundled:shoal-demo-embed',
    context_length: CONTEXT,
  },
]

/**
 * Label `bundled-demo` for weights shipped with shoal; undefined for the operator's own weights.
 */
export const weightsLabel = (entry: CatalogueEntry): string | undefined =>
  entry.weights.startsWith('bundled:') ? 'bundled-demo' : undefined

/** True for weights that are downloaded. */
export const isDownloaded = ({ weights }: Pick<CatalogueEntry, 'weights'>): boolean =>
  /^(hf:|[a-z][a-z0-9+.-]*:\/\/)/i.test(weights)

/** Configuration key for the catalogue: ids are unique, and downloaded weights have a checksum. */
export const Catalogue = z
  .array(CatalogueEntry)
  .refine(list => new Set(list.map(entry => entry.id)).size === list.length, {
    error: 'every model id must be unique in the catalogue',
  })
  .superRefine((list, context) => {
    list.forEach((entry, index) => {
      const reserved = describeReservedId(entry.id)
      if (reserved !== undefined)
        context.addIssue({ code: 'custom', path: [index, 'id'], message: reserved })
      if (!isDownloaded(entry) || entry.sha256 !== undefined || entry.unchecked === true) return
      const message = 'downloaded weights need a sha256, or `unchecked: true`'
      context.addIssue({ code: 'custom', path: [index, 'sha256'], message })
    })
  })
export type Catalogue = z.infer<typeof Catalogue>
