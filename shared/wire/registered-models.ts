import * as z from 'zod'
import { type Catalogue, CatalogueEntry, isDownloaded, ModelId } from '../catalogue.ts'

/** Most models and aliases that operators may add; the list travels in one message to each cell. */
export const MAX_REGISTERED = 128
/** Most bytes of that list, which leaves room for the other settings in the message. */
export const MAX_REGISTERED_BYTES = 128 * 1024

/** A model that an operator added at the coordinator, as cells receive it. */
export const RegisteredModel = CatalogueEntry.extend({
  weights: CatalogueEntry.shape.weights.max(1024),
  note: z.string().max(300).default(''),
  owned_by: z.string().max(128).default('shoal'),
}).superRefine((entry, context) => {
  if (isDownloaded(entry)) {
    if (entry.sha256 !== undefined || entry.unchecked === true) return
    const message = 'downloaded weights need a sha256, or `unchecked: true`'
    context.addIssue({ code: 'custom', path: ['sha256'], message })
  } else if (!/^(bundled:|\/)/.test(entry.weights)) {
    const message = 'the path of a file on a cell must be absolute'
    context.addIssue({ code: 'custom', path: ['weights'], message })
  }
})
export type RegisteredModel = z.infer<typeof RegisteredModel>

/** Another id for a model; a cell without the model ignores it. */
const ModelAlias = z.strictObject({ id: ModelId, model: ModelId })

/** Models and aliases that operators added, as far as they are meant for one cell. */
export const RegisteredModels = z.strictObject({
  entries: z.array(RegisteredModel).max(MAX_REGISTERED),
  aliases: z.array(ModelAlias).max(MAX_REGISTERED),
  /** `off` while the egress of the coordinator is: the cell downloads none of these models. */
  downloads: z.literal('off').exactOptional(),
})
export type RegisteredModels = z.infer<typeof RegisteredModels>

/** The configured catalogue with the added models: they replace configured ones of the same id. */
export const extendCatalogue = (
  configured: Catalogue,
  { entries, aliases }: RegisteredModels = { entries: [], aliases: [] },
): Catalogue => {
  const byId = new Map(configured.map(entry => [entry.id, entry]))
  for (const entry of entries) byId.set(entry.id, entry)
  const aliased = aliases.flatMap(({ id, model }) => {
    const target = byId.get(model)
    return target === undefined ? [] : [{ ...target, id }]
  })
  for (const entry of aliased) byId.set(entry.id, entry)
  return [...byId.values()]
}
