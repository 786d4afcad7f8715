import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import type { Source } from '../../../upstreams/source.ts'
import { type FoundPrices, type PriceWindow, selectPrices } from './slot.ts'

const Market = z.object({
  data: z
    .array(
      z.object({
        start_timestamp: z.number(),
        end_timestamp: z.number(),
        marketprice: z.number().nullable(),
      }),
    )
    .max(1000),
})

/** Hourly prices (https://www.awattar.de/services/api). */
export const askAwattar = async (
  source: Source,
  window: PriceWindow,
  { ask }: Pick<LookupContext, 'ask'>,
): Promise<FoundPrices> => {
  const { body } = await ask({
    source,
    path: '/v1/marketdata',
    query: { start: window.today, end: window.end },
    form: 'json',
  })
  const slots = Market.parse(body).data.map(each => ({
    start: each.start_timestamp,
    end: each.end_timestamp,
    price: each.marketprice,
  }))
  return selectPrices(source, slots, window)
}
