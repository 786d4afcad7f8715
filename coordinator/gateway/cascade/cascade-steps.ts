import * as z from 'zod'
import type { CatalogueEntry } from '../../../shared/catalogue.ts'

const Confidence = z
  .number()
  .max(0)
  .describe(
    'Mean natural log-probability of a token, 0 at most; -0.7 is a probability of one half.',
  )

/** The cascade behind the model `auto`, as a configuration key. */
export const CascadeConfig = z.strictObject({
  order: z
    .array(z.string())
    .default([])
    .describe(
      'Chat models from the smallest to the largest. Without it: by typical_latency_ms of the catalogue, one for each weights.',
    ),
  minimum_confidence: Confidence.default(-0.5).describe(
    'An answer with less is given up for the next larger model: mean natural log-probability of a token, 0 at most.',
  ),
  minimum_confidence_of: z
    .record(z.string(), Confidence)
    .default({})
    .describe('The same for single models.'),
})
export type CascadeConfig = z.infer<typeof CascadeConfig>

export interface CascadeStep {
  model: string
  /** Mean natural log-probability of a token that an answer must reach. */
  minimumConfidence: number
}

/** The steps for a caller who may use these models. */
export const cascadeSteps = (
  allowed: readonly CatalogueEntry[],
  config: CascadeConfig,
): CascadeStep[] => {
  const chat = allowed.filter(entry => entry.kind === 'chat')
  const ordered = config.order.length > 0 ? pickInOrder(chat, config.order) : sortBySize(chat)
  return ordered.map(({ id }) => ({
    model: id,
    minimumConfidence: config.minimum_confidence_of[id] ?? config.minimum_confidence,
  }))
}

const pickInOrder = (
  entries: readonly CatalogueEntry[],
  order: readonly string[],
): CatalogueEntry[] => order.flatMap(id => entries.find(entry => entry.id === id) ?? [])

/** Ids with the same weights are one model: it would say the same again. */
const sortBySize = (entries: readonly CatalogueEntry[]): CatalogueEntry[] => {
  const latency = (entry: CatalogueEntry): number =>
    entry.typical_latency_ms ?? Number.MAX_SAFE_INTEGER
  const sorted = entries.toSorted((a, b) => latency(a) - latency(b))
  return sorted.filter(
    (entry, index) => sorted.findIndex(({ weights }) => weights === entry.weights) === index,
  )
}
