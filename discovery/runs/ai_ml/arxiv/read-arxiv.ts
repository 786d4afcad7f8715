import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { PreprintSearch } from '../../../modules/ai_ml/preprint-search.ts'

type Preprint = PreprintSearch['items'][number]

export interface ArxivFeed {
  total: number
  items: Preprint[]
  unparsed: number
  /** Message of a feed that reports an error. */
  error: string | undefined
}

/** Elements of the feed that are lists. */
export const ARXIV_LISTS = ['entry', 'author', 'category', 'link']

/** Text, or an element with attributes around it. */
const Text = z.union([
  z.string(),
  z.object({ '#text': z.string() }).transform(each => each['#text']),
])

const Entry = z.object({
  id: Text,
  title: Text,
  summary: Text.nullish(),
  published: Text.nullish(),
  updated: Text.nullish(),
  author: z.array(z.object({ name: Text })).nullish(),
  category: z.array(z.object({ '@term': z.string() })).nullish(),
  link: z
    .array(
      z.object({
        '@href': z.string(),
        '@rel': z.string().nullish(),
        '@title': z.string().nullish(),
      }),
    )
    .nullish(),
  'arxiv:primary_category': z.object({ '@term': z.string() }).nullish(),
  'arxiv:comment': Text.nullish(),
  'arxiv:doi': Text.nullish(),
  'arxiv:journal_ref': Text.nullish(),
})
type Entry = z.infer<typeof Entry>

const Feed = z.object({
  feed: z.object({
    'opensearch:totalResults': Text.nullish(),
    entry: z.array(z.unknown()).nullish(),
  }),
})

/** Reads an Atom feed of arXiv (https://info.arxiv.org/help/api/user-manual.html). */
export const readArxiv = (body: unknown): ArxivFeed => {
  const { feed } = Feed.parse(body)
  const entries = feed.entry ?? []
  const read = entries.flatMap(each => Entry.safeParse(each).data ?? [])
  const failure = read.find(({ id }) => id.includes('/api/errors'))
  const items = failure === undefined ? read.flatMap(entry => toPreprint(entry) ?? []) : []
  return {
    total: Number(feed['opensearch:totalResults'] ?? 0) || 0,
    items,
    unparsed: failure === undefined ? entries.length - items.length : 0,
    error: failure?.summary?.slice(0, 200),
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
}

/** Text in one line, with the entities of XML read once. */
const clean = (text: string, most: number): string =>
  text
    .replaceAll(/&(?:lt|gt|quot|apos|amp);/g, entity => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, most)

const MAX_ID_CHARACTERS = 256

/** Ids: `http://arxiv.org/abs/2602.01234v2`, and before 2007 `.../hep-th/9901001v1`. */
const toPreprint = (entry: Entry): Preprint | undefined => {
  if (entry.id.length > MAX_ID_CHARACTERS) return undefined
  const [, id, version] = /\/abs\/(.+?)v(\d+)$/.exec(entry.id) ?? []
  if (id === undefined) return undefined
  const categories = (entry.category ?? []).map(each => each['@term'].slice(0, 32))
  const pdf = entry.link?.find(link => link['@title'] === 'pdf')
  const optional = (text: string | null | undefined, most: number): string | null =>
    text ? clean(text, most) : null
  return {
    id: id.slice(0, 64),
    version: Number(version),
    title: clean(entry.title, 512),
    abstract: clean(entry.summary ?? '', 8192),
    authors: (entry.author ?? []).slice(0, 100).map(({ name }) => clean(name, 256)),
    primary_category:
      entry['arxiv:primary_category']?.['@term'].slice(0, 32) ?? categories[0] ?? '',
    categories: categories.slice(0, 32),
    published_at: readUtcTime(entry.published),
    updated_at: readUtcTime(entry.updated),
    comment: optional(entry['arxiv:comment'], 1024),
    doi: optional(entry['arxiv:doi'], 256),
    journal_ref: optional(entry['arxiv:journal_ref'], 512),
    abs_url: `https://arxiv.org/abs/${id}v${version}`.slice(0, 512),
    pdf_url: pdf === undefined ? null : clean(pdf['@href'], 512),
  }
}
