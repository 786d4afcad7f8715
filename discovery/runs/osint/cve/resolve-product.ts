import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import nvd from '../../../upstreams/sources/nvd.ts'
import { readAnswer } from '../../../upstreams/try-sources.ts'
import { type CpeName, parseCpe } from './cpe-name.ts'

const Products = z.object({
  totalResults: z.int(),
  products: z.array(
    z.object({ cpe: z.object({ cpeName: z.string(), deprecated: z.boolean().nullish() }) }),
  ),
})

/** Product of the dictionary. */
interface Resolved {
  name: Pick<CpeName, 'part' | 'vendor' | 'product'>
  /** Reason why the installed product may be another one; undefined where it cannot be. */
  doubt: string | undefined
}

/** Limit of the dictionary entries that are read; each version of a product has one. */
const MAX_ENTRIES = 1500
const READING = { limits: { maxValues: 400_000 } }

/** Finds the product whose name, or vendor and name, equals the request; undefined without one. */
export const resolveProduct = async (
  product: string,
  { ask }: LookupContext,
): Promise<Resolved | undefined> => {
  const query = { keywordSearch: product, resultsPerPage: MAX_ENTRIES }
  const request = { source: nvd, path: '/cpes/2.0', query, reading: READING }
  const { body } = await ask({ ...request, form: 'json' })
  const { products, totalResults } = readAnswer(nvd, () => Products.parse(body))
  const [best, second] = rankProducts(products, product)
  if (best === undefined) return undefined
  const { part, vendor } = best.name
  if (best.score === second?.score)
    return { ...best, doubt: `it is a product of ${vendor} and of ${second.name.vendor}` }
  if (part === 'h')
    return { ...best, doubt: 'it is hardware, and its firmware is not in the dictionary' }
  const isCut = totalResults > products.length
  const doubt = `${products.length} of ${totalResults} entries of the dictionary were read`
  return { ...best, doubt: isCut ? doubt : undefined }
}

interface Ranked extends Pick<Resolved, 'name'> {
  score: number
  entries: number
}

/** Lists the products that the request can mean, the likeliest first. */
const rankProducts = (
  products: z.infer<typeof Products>['products'],
  request: string,
): Ranked[] => {
  const names = products
    .filter(({ cpe }) => cpe.deprecated !== true)
    .flatMap(({ cpe }) => parseCpe(cpe.cpeName) ?? [])
  const groups = Map.groupBy(names, ({ vendor, product }) => `${vendor} ${product}`)
  return [...groups.values()]
    .flatMap(group => group.slice(0, 1).map(first => ({ first, group })))
    .map(({ first, group }) => {
      const isOnePart = group.every(({ part }) => part === first.part)
      const name = { ...first, part: isOnePart ? first.part : '*' }
      return { name, score: scoreOf(name, request), entries: group.length }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.entries - a.entries)
}

/** Letters and digits of a name: `Home Assistant` is `home-assistant`, `c1_firmware` that of `C1`. */
const reduceName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/_firmware$/, '')
    .replaceAll(/[^a-z0-9]/g, '')

/** Scores a product: 0 for another one, most for the requested vendor, software before hardware. */
const scoreOf = ({ part, vendor, product }: Resolved['name'], request: string): number => {
  const [asked, own, maker] = [request, product, vendor].map(reduceName)
  const isOfVendor = asked === `${maker}${own}` || (asked === own && asked === maker)
  if (!isOfVendor && asked !== own) return 0
  return (isOfVendor ? 4 : 2) + (part === 'h' ? 0 : 1)
}
