import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import type { Zone } from '../../../modules/environment/energy-price.ts'
import smard from '../../../upstreams/sources/smard.ts'
import { type FoundPrices, type PriceWindow, selectPrices, slotsFromStarts } from './slot.ts'

/** Series of the day-ahead prices (https://smard.api.bund.dev). */
export const SMARD_FILTERS: Partial<Record<Zone, number>> = {
  'DE-LU': 4169,
  AT: 4170,
  BE: 4996,
  NO2: 4997,
  DK1: 252,
  DK2: 253,
  FR: 254,
  'IT-North': 255,
  NL: 256,
  PL: 257,
  CH: 259,
  SI: 260,
  CZ: 261,
  HU: 262,
}

const Index = z.object({ timestamps: z.array(z.number()).max(5000) })
const Block = z.object({
  series: z.array(z.tuple([z.number(), z.number().nullable()])).max(5000),
})

const REGION = 'DE'
const RESOLUTION = 'quarterhour'

/** The last two blocks: a new one begins each week. */
export const askSmard = async (
  filter: number,
  window: PriceWindow,
  { ask }: Pick<LookupContext, 'ask'>,
): Promise<FoundPrices> => {
  const folder = `/chart_data/${filter}/${REGION}`
  const index = await ask({
    source: smard,
    path: `${folder}/index_${RESOLUTION}.json`,
    form: 'json',
  })
  const blocks = Index.parse(index.body)
    .timestamps.toSorted((a, b) => a - b)
    .slice(-2)
  const points = new Map<number, number | null>()
  for (const block of blocks) {
    const path = `${folder}/${filter}_${REGION}_${RESOLUTION}_${block}.json`
    const { body } = await ask({ source: smard, path, form: 'json' })
    for (const [start, price] of Block.parse(body).series) points.set(start, price)
  }
  const slots = slotsFromStarts([...points.keys()], [...points.values()])
  return selectPrices(smard, slots, window)
}
