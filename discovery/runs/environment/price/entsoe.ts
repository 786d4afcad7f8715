import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import type { Zone } from '../../../modules/environment/energy-price.ts'
import { UpstreamError } from '../../../upstreams/client.ts'
import entsoe from '../../../upstreams/sources/entsoe.ts'
import { type FoundPrices, type PriceWindow, type Slot, selectPrices } from './slot.ts'

/** Energy identification codes of bidding zones (ENTSO-E, area codes). */
export const ENTSOE_AREAS: Partial<Record<Zone, string>> = {
  'DE-LU': '10Y1001A1001A82H',
  AT: '10YAT-APG------L',
  FR: '10YFR-RTE------C',
  NL: '10YNL----------L',
  BE: '10YBE----------2',
  CH: '10YCH-SWISSGRIDZ',
  PL: '10YPL-AREA-----S',
  CZ: '10YCZ-CEPS-----N',
}

const Numeric = z.coerce.number()

const Period = z.object({
  timeInterval: z.object({ start: z.string(), end: z.string() }),
  resolution: z.enum(['PT15M', 'PT30M', 'PT60M']),
  Point: z.array(z.object({ position: Numeric, 'price.amount': Numeric })).max(200),
})
type Period = z.output<typeof Period>

const Publication = z.object({
  Publication_MarketDocument: z.object({
    TimeSeries: z
      .array(
        z.object({
          'classificationSequence_AttributeInstanceComponent.position': Numeric.optional(),
          Period: z.array(Period).max(50),
        }),
      )
      .max(100),
  }),
})

const LISTS = ['TimeSeries', 'Period', 'Point']

/** Day-ahead prices, document type A44 (ENTSO-E, Transparency Platform RESTful API). */
export const askEntsoe = async (
  area: string,
  window: PriceWindow,
  { ask, warn }: LookupContext,
): Promise<FoundPrices> => {
  const { body } = await ask({
    source: entsoe,
    path: '/api',
    query: {
      ...{ documentType: 'A44', 'contract_MarketAgreement.type': 'A01' },
      ...{ in_Domain: area, out_Domain: area },
      ...{ periodStart: minuteOf(window.today), periodEnd: minuteOf(window.end) },
    },
    form: 'xml',
    reading: { lists: LISTS, dropsPrefixes: true },
  })
  warn('licence_restricted', 'ENTSO-E limits some uses of its prices', entsoe.name)
  return selectPrices(entsoe, readSlots(body), window)
}

/** `202603010930`, UTC. */
const minuteOf = (ms: number): string => new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12)

const readSlots = (document: unknown): Slot[] => {
  if (
    typeof document === 'object' &&
    document !== null &&
    'Acknowledgement_MarketDocument' in document
  )
    throw new UpstreamError(entsoe.id, 'not_found', 'it has no prices of these days')
  const series = Publication.parse(document).Publication_MarketDocument.TimeSeries
  // series overlap: the first auction counts
  return series
    .filter(each => (each['classificationSequence_AttributeInstanceComponent.position'] ?? 1) === 1)
    .flatMap(each => each.Period.flatMap(slotsOf))
    .toSorted((a, b) => a.start - b.start)
}

/** Curve type A03 leaves out positions whose price is that of the one before. */
const slotsOf = ({ timeInterval, resolution, Point }: Period): Slot[] => {
  const start = Date.parse(timeInterval.start)
  const stepMs = Number(resolution.slice(2, -1)) * 60_000
  const count = Math.min(200, Math.round((Date.parse(timeInterval.end) - start) / stepMs))
  const prices = new Map(Point.map(point => [point.position, point['price.amount']]))
  let price: number | null = null
  return Array.from({ length: count }, (_, index) => {
    price = prices.get(index + 1) ?? price
    return { start: start + index * stepMs, end: start + (index + 1) * stepMs, price }
  })
}
