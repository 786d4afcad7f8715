import * as z from 'zod'
import type { ApiModel } from './api-row.ts'

const MAX_MODELS = 128
const MILLION = 1e6

const Price = z.coerce.number().nonnegative().nullish().catch(null)

/** Lists of the OpenAI and Anthropic APIs; prices are those of OpenRouter, in USD per token. */
const List = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      context_length: z.number().int().nonnegative().nullish().catch(null),
      pricing: z.object({ prompt: Price, completion: Price }).nullish().catch(null),
    }),
  ),
})

/** Models of a list; undefined for an answer of another form. */
export const readApiModels = (json: unknown): ApiModel[] | undefined =>
  List.safeParse(json)
    .data?.data.slice(0, MAX_MODELS)
    .map(({ id, context_length, pricing }) => ({
      id: id.slice(0, 128),
      context_length: context_length ?? null,
      input_usd_per_mtok: perMillion(pricing?.prompt),
      output_usd_per_mtok: perMillion(pricing?.completion),
    }))

const perMillion = (price: number | null | undefined): number | null =>
  price === null || price === undefined ? null : Math.round(price * MILLION * 1e4) / 1e4
