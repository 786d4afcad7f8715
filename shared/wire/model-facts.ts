import * as z from 'zod'
import { MODEL_KINDS } from '../catalogue.ts'

/** Path of the question on the link; see `daemon/questions`. */
export const MODEL_FACTS_PATH = '/model/'
export const MODEL_FACTS_NAME = 'facts'

export const ModelFactsInput = z.strictObject({ model: z.string().min(1).max(128) })

/** Longest chat template that is answered; a longer one is cut. */
export const MAX_TEMPLATE_CHARACTERS = 64 * 1024

const Text = z.string().max(256).nullable()

/** Facts that a weights file states about itself, as a cell reads them. Null where it is silent. */
export const ModelFacts = z.object({
  kind: z.enum(MODEL_KINDS),
  weights: z
    .string()
    .max(1024)
    .describe('The file, repository or address as the catalogue names it.'),
  file_bytes: z.number().nonnegative(),
  architecture: z.string().max(64),
  quantization: Text.describe('Such as `Q4_K_M`, by the file type in the header.'),
  parameters: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Values of all tensors; null from a cell with an older daemon.'),
  name: Text,
  licence: Text,
  licence_url: Text,
  context_length: z.int().describe('Tokens that the model was trained for.'),
  layers: z.int(),
  embedding_length: z.int(),
  vocabulary: z.int(),
  tool_format: Text.describe(
    'Format of tool calls that the template shows; see docs/inference.md.',
  ),
  chat_template: z.string().max(MAX_TEMPLATE_CHARACTERS).nullable(),
})
export type ModelFacts = z.infer<typeof ModelFacts>
