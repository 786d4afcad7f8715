import type { TlsFacts } from '../../../net/tls-facts.ts'
import type { PathRule } from './path-rules.ts'
import { PRODUCT_RULES, type ProductRule, type RulePlace } from './product-rules.ts'
import type { HeaderFacts } from './read-headers.ts'
import type { Page } from './read-page.ts'

type Evidence = 'header' | 'title' | 'favicon' | 'cookie' | 'body' | 'path' | 'tls'

export interface Product {
  name: string
  vendor: string | null
  version: string | null
  cpe: string | null
  confidence_percent: number
  evidence: Evidence
}

/** What rules look at. */
interface SeenAnswer {
  headers: HeaderFacts
  page: Page
  tls: TlsFacts | null
}

const MAX_PRODUCTS = 16
/** Chance that the evidence is right: headers and paths are made by the product itself. */
const CONFIDENCE: Readonly<Record<Evidence, number>> = {
  path: 95,
  header: 90,
  cookie: 85,
  body: 85,
  favicon: 80,
  title: 75,
  tls: 60,
}

/** Products of an answer, the surest first, each once. */
export const matchProducts = (seen: SeenAnswer): Product[] =>
  keepSurest(PRODUCT_RULES.flatMap(rule => matchRule(rule, seen)))

export const matchPath = (rule: PathRule, text: string): Product[] =>
  rule.pattern.test(text) ? [describe(rule, rule.version?.exec(text)?.[1], 'path')] : []

export const keepSurest = (products: readonly Product[]): Product[] => {
  const surest = new Map<string, Product>()
  for (const product of products.toSorted((a, b) => b.confidence_percent - a.confidence_percent)) {
    const known = surest.get(product.name)
    if (known === undefined) surest.set(product.name, product)
    else if (known.version === null && product.version !== null)
      surest.set(product.name, { ...known, version: product.version, cpe: product.cpe })
  }
  return [...surest.values()].slice(0, MAX_PRODUCTS)
}

const matchRule = (rule: ProductRule, seen: SeenAnswer): Product[] => {
  for (const text of readPlace(rule.place, seen)) {
    const match = rule.pattern.exec(text)
    if (match !== null) return [describe(rule, match[1], evidenceOf(rule.place))]
  }
  return []
}

const readPlace = (place: RulePlace, { headers, page, tls }: SeenAnswer): readonly string[] => {
  if (place.startsWith('header:')) return presentOf(headers.headers[place.slice('header:'.length)])
  if (place === 'title') return presentOf(page.title)
  if (place === 'generator') return presentOf(page.generator)
  if (place === 'cookie') return headers.cookies
  if (place === 'realm') return presentOf(headers.auth_realm)
  if (place === 'tls') return presentOf(tls?.subject_cn)
  return [page.text]
}

const presentOf = (text: string | null | undefined): string[] => (text ? [text] : [])

const evidenceOf = (place: RulePlace): Evidence => {
  if (place === 'title' || place === 'cookie' || place === 'tls') return place
  return place === 'body' || place === 'generator' ? 'body' : 'header'
}

const describe = (
  { name, vendor, cpe }: Pick<ProductRule, 'name' | 'vendor' | 'cpe'>,
  version: string | undefined,
  evidence: Evidence,
): Product => ({
  name,
  vendor,
  version: version?.slice(0, 64) ?? null,
  cpe: cpe === undefined ? null : `cpe:2.3:${cpe}:${version ?? '*'}:*:*:*:*:*:*:*`,
  confidence_percent: CONFIDENCE[evidence],
  evidence,
})
