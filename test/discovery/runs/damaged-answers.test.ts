import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadRun } from '../../../discovery/load.ts'
import type { LookupContext, LookupRun } from '../../../discovery/lookup-run.ts'
import { isScan } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import { UpstreamError } from '../../../discovery/upstreams/client.ts'
import { FIXTURE_NOW } from '../../support/upstreams.ts'

const FIXTURES = join(import.meta.dirname, '../../fixtures/upstreams')

/** Modules with the fixtures of one source, by what its path contains. */
const CASES: readonly [module: string, source: string, files: Record<string, string>][] = [
  ['weather-forecast', 'metno', { '': 'good.json' }],
  ['weather-forecast', 'open-meteo', { '': 'good.json' }],
  ['weather-forecast', 'brightsky', { '': 'good.json' }],
  ['pv-forecast', 'forecast-solar', { '': 'good.json' }],
  ['pv-forecast', 'open-meteo', { '': 'irradiance.json' }],
  ['air-quality', 'sensor-community', { '': 'good.json' }],
  ['air-quality', 'open-meteo-aq', { '': 'good.json' }],
  ['air-quality', 'openaq', { latest: 'latest.json', '': 'locations.json' }],
  ['energy-price', 'awattar', { '': 'good.json' }],
  ['iss-position', 'celestrak', { '': 'good.json' }],
  ['iss-position', 'wheretheiss', { '': 'good.json' }],
  ['iss-position', 'open-notify', { '': 'good.json' }],
]

const STRANGE = [null, -1, 1e21, 0, '', 'x'.repeat(10_000), [], {}, true]
/** Leaves of a large fixture that are changed; the others are like them. */
const MAX_LEAVES = 120

type Path = readonly (string | number)[]

const leavesOf = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]))]
    : [path]

/** A copy with another value at the path. */
const replaceAt = (value: unknown, [first, ...rest]: Path, other: unknown): unknown => {
  if (first === undefined) return other
  const copy = structuredClone(value) as Record<string | number, unknown>
  copy[first] = replaceAt(copy[first], rest, other)
  return copy
}

const createAsk =
  (source: string, answer: (path: string) => unknown): LookupContext['ask'] =>
  async ({ source: { id, name }, path }) => {
    if (id !== source) throw new UpstreamError(id, 'not_reached', 'it is not part of this test')
    const fetched_at = new Date(FIXTURE_NOW).toISOString()
    const facts = { name, url: '', fetched_at, age_s: 0, cache: 'miss' as const }
    const provenance = { ...facts, licence: null, attribution: null }
    return { status: 200, body: answer(path), headers: {}, source: provenance }
  }

/** What the programs of the cases use of a context. */
const createContext = (ask: LookupContext['ask']): LookupContext =>
  ({
    signal: new AbortController().signal,
    now: () => FIXTURE_NOW,
    ask,
    warn: () => {},
    settings: {
      hasKey: () => true,
      hasOwnUrl: () => true,
      option: () => undefined,
      site: { lat: 48.1, lon: 11.5, pv_tilt_deg: 30, pv_azimuth_deg: 0 },
    },
  }) satisfies Partial<LookupContext> as unknown as LookupContext

for (const [id, source, files] of CASES)
  t.test(`${id} survives any value that ${source} may send`, async t => {
    const module = DISCOVERY_MODULES.find(each => each.id === id)
    if (module === undefined || isScan(module)) throw new Error(`${id} is not a lookup`)
    const run = (await loadRun<LookupRun<object>>(module)) as LookupRun<object>
    const input = module.input.parse({})
    const fileOf = (path: string): string =>
      Object.entries(files).find(([part]) => path.includes(part))?.[1] ?? ''
    const good = new Map(
      Object.values(files).map(file => [
        file,
        JSON.parse(readFileSync(join(FIXTURES, source, file), 'utf8')) as unknown,
      ]),
    )
    const failures: string[] = []
    for (const [file, body] of good)
      for (const path of leavesOf(body).slice(0, MAX_LEAVES))
        for (const other of STRANGE) {
          const damaged = replaceAt(body, path, other)
          const answer = (asked: string): unknown =>
            fileOf(asked) === file ? damaged : good.get(fileOf(asked))
          try {
            module.data.parse(await run(input, createContext(createAsk(source, answer))))
          } catch (error) {
            if (error instanceof UpstreamError) continue
            failures.push(`${path.join('.')} = ${JSON.stringify(other).slice(0, 40)}: ${error}`)
          }
        }
    t.same(failures.slice(0, 5), [])
  })
