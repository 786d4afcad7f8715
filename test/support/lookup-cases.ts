import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { UpstreamRequest } from '../../discovery/upstreams/client.ts'
import type { SourceSettings } from '../../discovery/upstreams/settings.ts'
import { readAnswer } from '../../discovery/upstreams/try-sources.ts'
import { parseDocument } from '../../shared/foreign/parse-document.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/upstreams')

/** A module with one source that answers it, while all others of the module are down. */
export interface LookupCase {
  module: string
  source: string
  input?: object
  /** Fixtures by a part of the path of a request; an empty part is any request, and the first fits. */
  files: Readonly<Record<string, string>>
  /** Key and options of the source. */
  settings?: SourceSettings
  /** Sources that answer as well, because this one is asked about what they say. */
  beside?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const KEY: SourceSettings = { key: 'sesame-0815' }
const GOOD = { '': 'good.json' }
const NVD = { '/cpes': 'products.json', '': 'good.json' }
const CVE = { module: 'cve-search', input: { keyword: 'broker' } } as const
const CHECK = {
  module: 'cve-check',
  input: { device_type: 'mqtt_broker', product: 'broker' },
} as const
const SEARCH = { module: 'registry-search', input: { query: 'weather' }, files: GOOD } as const

/** Every source that is asked over HTTP, with each module that reads it. */
export const LOOKUP_CASES: readonly LookupCase[] = [
  { module: 'weather-forecast', source: 'metno', files: GOOD },
  { module: 'weather-forecast', source: 'open-meteo', files: GOOD },
  { module: 'weather-forecast', source: 'brightsky', files: GOOD },
  { module: 'pv-forecast', source: 'forecast-solar', files: GOOD },
  { module: 'pv-forecast', source: 'open-meteo', files: { '': 'irradiance.json' } },
  { module: 'pv-forecast', source: 'brightsky', files: GOOD },
  { module: 'pv-forecast', source: 'pvgis', files: GOOD },
  { module: 'air-quality', source: 'sensor-community', files: GOOD },
  { module: 'air-quality', source: 'open-meteo-aq', files: GOOD },
  {
    module: 'air-quality',
    source: 'openaq',
    files: { latest: 'latest.json', '': 'locations.json' },
    settings: KEY,
  },
  { module: 'energy-price', source: 'energy-charts', files: GOOD },
  { module: 'energy-price', source: 'smard', files: { index: 'index.json', '': 'block.json' } },
  { module: 'energy-price', source: 'awattar', files: GOOD },
  {
    module: 'energy-price',
    source: 'awattar-at',
    input: { zone: 'AT' },
    files: { '': '../awattar/good.json' },
  },
  { module: 'energy-price', source: 'entsoe', files: { '': 'good.xml' }, settings: KEY },
  { module: 'iss-position', source: 'celestrak', files: GOOD },
  { module: 'iss-position', source: 'wheretheiss', files: GOOD },
  { module: 'iss-position', source: 'open-notify', files: GOOD },
  { module: 'ct-log-search', source: 'crtsh', input: { domain: 'shoal.example' }, files: GOOD },
  {
    module: 'ct-log-search',
    source: 'certspotter',
    input: { domain: 'shoal.example' },
    files: { 'after=': '../sensor-community/empty.json', '': 'good.json' },
  },
  { module: 'whois-lookup', source: 'rdap', input: { domain: 'shoal-test.org' }, files: GOOD },
  {
    module: 'ip-to-asn',
    source: 'ripestat',
    input: { ip: '203.0.2.10' },
    files: {
      'as-overview': 'as-overview.json',
      'abuse-contact': 'abuse-contact-finder.json',
      '': 'network-info.json',
    },
  },
  { ...CVE, source: 'nvd', files: NVD },
  { ...CVE, source: 'kev', files: GOOD },
  { ...CVE, source: 'epss', files: GOOD, beside: { nvd: NVD } },
  { ...CHECK, source: 'nvd', files: NVD },
  { ...CHECK, source: 'kev', files: GOOD, beside: { nvd: NVD } },
  { ...CHECK, source: 'epss', files: GOOD, beside: { nvd: NVD } },
  {
    module: 'cve-check',
    source: 'osv',
    input: { device_type: 'mqtt_broker', product: 'ollama', version: '0.3.1' },
    files: GOOD,
  },
  { module: 'hub-models', source: 'hf', files: GOOD },
  { module: 'ai-benchmarks', source: 'hf', files: { '': 'leaderboard.json' } },
  { module: 'ai-benchmarks', source: 'aider', files: { '': 'good.yml' } },
  { module: 'ai-benchmarks', source: 'aa', files: GOOD, settings: KEY },
  { module: 'preprint-search', source: 'arxiv', files: { '': 'good.xml' } },
  {
    module: 'cloud-discover',
    source: 'hetzner',
    files: { '/servers': 'servers.json', '': 'others.json' },
    settings: KEY,
  },
  {
    module: 'cloud-discover',
    source: 'digitalocean',
    input: { provider: 'digitalocean' },
    files: GOOD,
    settings: KEY,
  },
  {
    module: 'repo-releases',
    source: 'github',
    files: { '/tags': 'tags.json', '': 'good.json' },
    settings: { repos: ['muster/werkzeug'] },
  },
  { ...SEARCH, source: 'mcp-registry' },
  { ...SEARCH, source: 'npm' },
  { ...SEARCH, source: 'dockerhub' },
]

/** Result of the client for a body from a fixture, or a change of it. */
export const applyReading = async (
  { source, form, reading = {} }: UpstreamRequest,
  body: unknown,
): Promise<unknown> => {
  const isText = form === 'xml' && typeof body === 'string'
  const document = isText ? parseDocument(body, { ...reading, format: form }) : body
  const { reader } = reading
  if (reader === undefined) return document
  const functions = await import(reader.module)
  return readAnswer(source, () => functions[reader.name](document, reader.input))
}

type Change = (value: unknown) => unknown

/** Name of the fixture for a request. */
export const fixtureFor = (files: LookupCase['files'], path: string): string =>
  Object.entries(files).find(([part]) => path.includes(part))?.[1] ?? ''

/** Content of a fixture: its value, or the text of an XML document. */
export const readFixture = (source: string, file: string): unknown => {
  const text = readFileSync(join(FIXTURES, source, file), 'utf8')
  if (file.endsWith('.xml')) return text
  return file.endsWith('.yml') ? parse(text) : JSON.parse(text)
}

/** A body of the same form in which every value is null, or every text of an XML element is empty. */
export const nullify: Change = value => {
  if (typeof value === 'string' && value.startsWith('<')) return value.replaceAll(/>[^<]+</g, '><')
  return nullifyJson(value)
}

const nullifyJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(nullifyJson)
  if (typeof value !== 'object' || value === null) return null
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, nullifyJson(each)]))
}

/** A body of the same form with nothing in it: no members of lists, no elements below the root. */
export const empty: Change = value => {
  if (typeof value !== 'string') return emptyJson(value)
  const [, root = 'x'] = /<([a-z_]\w*)[\s>]/i.exec(value) ?? []
  return `<${root}></${root}>`
}

const emptyJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return []
  if (typeof value !== 'object' || value === null) return value
  const lists = Object.entries(value).filter(([, each]) => typeof each === 'object')
  return Object.fromEntries(lists.map(([key, each]) => [key, emptyJson(each)]))
}
