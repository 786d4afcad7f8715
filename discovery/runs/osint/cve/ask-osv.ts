import * as z from 'zod'
import type { CveHit } from '../../../fields/cve-hit.ts'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { CveCheck } from '../../../modules/osint/cve-check.ts'
import osv from '../../../upstreams/sources/osv.ts'
import { toMissingPart } from '../../../upstreams/try-sources.ts'

type Item = CveCheck['items'][number]

/** Packages under which products of cells are published, as https://osv.dev names them. */
const PACKAGES: Readonly<Record<string, { name: string; ecosystem: string }>> = {
  ollama: { name: 'github.com/ollama/ollama', ecosystem: 'Go' },
  vllm: { name: 'vllm', ecosystem: 'PyPI' },
  sglang: { name: 'sglang', ecosystem: 'PyPI' },
  gradio: { name: 'gradio', ecosystem: 'PyPI' },
  litellm: { name: 'litellm', ecosystem: 'PyPI' },
  transformers: { name: 'transformers', ecosystem: 'PyPI' },
  homeassistant: { name: 'homeassistant', ecosystem: 'PyPI' },
  'home assistant': { name: 'homeassistant', ecosystem: 'PyPI' },
  octoprint: { name: 'octoprint', ecosystem: 'PyPI' },
  mosquitto: { name: 'mosquitto', ecosystem: 'Debian' },
  frigate: { name: 'github.com/blakeblackshear/frigate', ecosystem: 'Go' },
}

const Vulnerability = z.object({
  id: z.string(),
  summary: z.string().nullish(),
  details: z.string().nullish(),
  aliases: z.array(z.string()).nullish(),
  published: z.string().nullish(),
  modified: z.string().nullish(),
  affected: z
    .array(
      z.object({
        ranges: z
          .array(
            z.object({
              events: z.array(
                z.object({ introduced: z.string().nullish(), fixed: z.string().nullish() }),
              ),
            }),
          )
          .nullish(),
      }),
    )
    .nullish(),
  references: z.array(z.object({ type: z.string().nullish(), url: z.string() })).nullish(),
})
type Vulnerability = z.infer<typeof Vulnerability>

const MAX_HITS = 1000

/** An answer without hits has no list; one that is not the last has a token. */
const Answer = z.object({
  vulns: z.array(z.unknown()).nullish(),
  next_page_token: z.string().nullish(),
})

/** Limit of the pages that are read for one package. */
const MAX_PAGES = 5

interface Packages {
  items: Item[]
  /** True when every record was read, also for a product that is not a package. */
  isComplete: boolean
}

/** Vulnerabilities of a product that is a package; what was not read is in a warning. */
export const askOsv = async (
  product: string,
  version: string | undefined,
  context: LookupContext,
): Promise<Packages> => {
  const found = PACKAGES[product.toLowerCase()]
  if (found === undefined) return { items: [], isComplete: true }
  const query = { package: found, ...(version === undefined ? {} : { version }) }
  const match = version === undefined ? 'product' : 'version'
  const items: Item[] = []
  try {
    let token = ''
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await askPage({ ...query, ...(token && { page_token: token }) }, context)
      items.push(...page.hits.map(hit => ({ ...hit, match }) as const))
      token = page.token
      if (token === '') return { items, isComplete: page.isComplete }
    }
    context.warn('partial_result', `only ${items.length} records were read`, osv.name)
  } catch (error) {
    const { message } = toMissingPart(osv, error, context)
    context.warn('partial_result', `packages were not read to the end: ${message}`, osv.name)
  }
  return { items, isComplete: false }
}

const askPage = async (
  body: { package: { name: string } },
  context: LookupContext,
): Promise<OsvPage> => {
  const reader = { module: import.meta.url, name: 'readOsv', input: body.package.name }
  const request = { source: osv, path: '/v1/query', body, reading: { reader } }
  const answer = await context.ask({ ...request, form: 'json' })
  return answer.body as OsvPage
}

interface OsvPage {
  hits: CveHit[]
  /** False when a record could not be read. */
  isComplete: boolean
  /** Token of the next page; empty for the last one. */
  token: string
}

/** Reads an answer, which may have many megabytes, off the event loop. */
export const readOsv = (body: unknown, product: string): OsvPage => {
  const { vulns, next_page_token } = Answer.parse(body)
  const hits = (vulns ?? [])
    .flatMap(each => Vulnerability.safeParse(each).data ?? [])
    .slice(0, MAX_HITS)
    .map(one => toHit(one, product))
  return { hits, isComplete: hits.length === (vulns ?? []).length, token: next_page_token ?? '' }
}

const toHit = (one: Vulnerability, product: string): CveHit => {
  const fixes = (one.affected ?? [])
    .flatMap(({ ranges }) => ranges ?? [])
    .flatMap(({ events }) => events.flatMap(({ fixed }) => fixed ?? []))
  return {
    id: (one.aliases?.find(alias => alias.startsWith('CVE-')) ?? one.id).slice(0, 64),
    title: one.summary?.slice(0, 512) ?? null,
    description: (one.details ?? one.summary ?? '').slice(0, 8192),
    published_at: readUtcTime(one.published),
    modified_at: readUtcTime(one.modified),
    status: null,
    // databases give vectors, and not all of them give a score
    severity: 'unknown',
    cvss: null,
    epss: null,
    kev: null,
    cwes: [],
    affected: [{ vendor: '', product: product.slice(0, 256), version_range: printFixes(fixes) }],
    fixed_in: fixes[0]?.slice(0, 64) ?? null,
    references: (one.references ?? []).slice(0, 32).map(({ type, url }) => ({
      url: url.slice(0, 2048),
      tags: type ? [type.slice(0, 64)] : [],
    })),
    sources: ['osv'],
  }
}

const printFixes = (fixes: readonly string[]): string =>
  fixes.length === 0 ? 'no fix yet' : `fixed in ${fixes.slice(0, 4).join(', ')}`.slice(0, 256)
