import type { Source } from '../discovery/upstreams/source.ts'
import { SOURCES } from '../discovery/upstreams/sources.ts'

const code = (text: string): string => `\`${text}\``

const HOUR_SECONDS = 3600
const DAY_SECONDS = 86_400

const printDuration = (seconds: number): string => {
  if (seconds === Number.POSITIVE_INFINITY) return 'unlimited'
  if (seconds === 0) return 'never'
  if (seconds % DAY_SECONDS === 0) return `${seconds / DAY_SECONDS} d`
  if (seconds % HOUR_SECONDS === 0) return `${seconds / HOUR_SECONDS} h`
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`
}

const variableOf = ({ id }: Source, setting: string): string =>
  code(`SHOAL_${id.replaceAll('-', '_').toUpperCase()}_${setting}`)

const printKey = (source: Source): string => {
  const { key } = source
  if (key === undefined) return 'none'
  if (key.sharedWith !== undefined) return `that of ${code(key.sharedWith)}`
  const variable = variableOf(source, key.variable ?? 'API_KEY')
  return key.isRequired ? `${variable}, required` : variable
}

const printRate = ({ rate: { requests, perSeconds } }: Source): string =>
  `${requests} in ${printDuration(perSeconds)}`

const printRow = (source: Source): string =>
  [
    code(source.id),
    source.url === null ? 'none' : code(source.url),
    variableOf(source, 'URL'),
    printKey(source),
    printDuration(source.ttlSeconds),
    printDuration(source.maxStaleSeconds),
    printRate(source),
    source.licence ?? '',
    source.attribution ?? '',
  ]
    .map(cell => cell.replaceAll('|', '\\|'))
    .join(' | ')

/** docs/upstream-sources.md: the outside sources of lookups. */
export const upstreamSourcesPage = (): string =>
  [
    '# Outside sources',
    '',
    'Made by `npm run docs` from the files in `discovery/upstreams/sources`; do not edit it by hand.',
    '[upstreams.md](upstreams.md) describes how the sources are queried and configured.',
    '',
    '- *fresh*: age up to which an answer is used without asking again; a longer lifetime of HTTP wins.',
    '- *stale*: age up to which a cached answer replaces a source that fails.',
    '- *rate*: a bucket of so many requests that fills in that time, shared by all coordinators.',
    '',
    '| source | address | variable for another address | key | fresh | stale | rate | licence | attribution |',
    '|---|---|---|---|---|---|---|---|---|',
    ...SOURCES.map(source => `| ${printRow(source)} |`),
    '',
  ].join('\n')
