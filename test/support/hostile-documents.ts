import type { SourceAnswer } from './upstream-server.ts'

/** Share of the full size that the suite uses; `npm run prove -- foreign` uses all of it. */
const SMALL = 0.2

const repeat = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join('')

/** Answer of a source that held the event loop for seconds or took a gigabyte, with its requester. */
interface HostileAnswer {
  title: string
  source: string
  skill: string
  input: object
  body: string
  headers: Record<string, string>
}

const YAML = { 'content-type': 'text/plain' }
const XML = { 'content-type': 'application/xml' }
const JSON_TYPE = { 'content-type': 'application/json' }

const atom = (id: string): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><totalResults>1</totalResults><entry><id>${id}</id><title>a</title></entry></feed>`

export const listHostileAnswers = (scale = SMALL): HostileAnswer[] => [
  {
    title: 'YAML with 20,000 keys in one map',
    ...{ source: 'aider', skill: 'ai-benchmarks', input: { task: 'code' } },
    ...{ body: repeat(20_000 * scale, at => `key${at}: 1\n`), headers: YAML },
  },
  {
    title: 'an arXiv id of 200 KB',
    ...{ source: 'arxiv', skill: 'preprint-search', input: { query: 'robots' } },
    ...{ body: atom(repeat(40_000 * scale, () => '/abs/')), headers: XML },
  },
  {
    title: 'XML with 200,000 attributes',
    ...{ source: 'entsoe', skill: 'energy-price', input: { zone: 'FR' } },
    ...{
      body: `<a ${repeat(Math.max(60_000, 200_000 * scale), at => `b${at}="c" `)}/>`,
      headers: XML,
    },
  },
  {
    title: 'JSON 2,000,000 levels deep',
    ...{ source: 'metno', skill: 'weather-forecast', input: {} },
    ...{ body: '['.repeat(2_000_000 * scale) + ']'.repeat(2_000_000 * scale), headers: JSON_TYPE },
  },
  {
    title: 'JSON of 1,500,000 empty lists',
    ...{ source: 'celestrak', skill: 'iss-position', input: {} },
    ...{ body: `[${'[],'.repeat(1_500_000 * scale)}0]`, headers: JSON_TYPE },
  },
]

export const answersOf = (hostile: readonly HostileAnswer[]): Record<string, SourceAnswer> =>
  Object.fromEntries(hostile.map(({ source, body, headers }) => [source, { body, headers }]))
