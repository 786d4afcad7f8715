import type { Test } from 'tap'
import { loadModules, loadRun } from '../../discovery/load.ts'
import type { LookupContext, LookupRun } from '../../discovery/lookup-run.ts'
import { isScan } from '../../discovery/module.ts'
import { openUpstreams } from '../../discovery/upstreams/open.ts'
import type { SourceSettings, UpstreamSettings } from '../../discovery/upstreams/settings.ts'
import type { Upstreams } from '../../discovery/upstreams/upstreams.ts'
import type { UpstreamSource, UpstreamWarning } from '../../shared/wire/findings.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { openUpstreamServer, type SourceAnswer, type UpstreamServer } from './upstream-server.ts'

type Parts = Parameters<typeof openUpstreams>[0]

export interface UpstreamTestOptions extends Partial<Omit<Parts, 'readSettings'>> {
  /** Answers of the sources by id; only these are configured, at the server of the test. */
  answers?: Record<string, SourceAnswer>
  settings?: Partial<UpstreamSettings>
  /** What was discovered before. */
  searchEntities?: LookupContext['searchEntities']
  /** End of the lookup, such as its deadline. */
  signal?: AbortSignal
  /** Options and keys of sources, beside their addresses. */
  sources?: Record<string, SourceSettings>
}

interface UpstreamTest {
  upstreams: Upstreams
  server: UpstreamServer
  /** Outcomes of the requests that were sent. */
  outcomes: string[]
  faults: unknown[]
}

/** Time of the fixtures. */
export const FIXTURE_NOW = Date.parse('2026-03-01T10:05:00Z')

/**
 * The client of the product in front of sources of the test. Waits are none, and a source that the
 * test does not answer has its public name, which fails the test.
 */
export const openTestUpstreams = async (
  t: Pick<Test, 'teardown' | 'fail'>,
  { answers = {}, settings = {}, sources = {}, ...parts }: UpstreamTestOptions = {},
): Promise<UpstreamTest> => {
  const server = await openUpstreamServer(t, answers)
  const own = Object.keys(answers).map(id => [id, { url: server.urlOf(id), ...sources[id] }])
  const outcomes: string[] = []
  const faults: unknown[] = []
  const upstreams = await openUpstreams({
    folder: parts.folder ?? (await temporaryFolder(t)),
    readSettings: () => ({
      egress: 'on',
      contact: 'https://shoal.example/contact',
      site: { pv_tilt_deg: 30, pv_azimuth_deg: 0 },
      sources: { ...sources, ...Object.fromEntries(own) },
      ...settings,
    }),
    cacheBytes: 16 * 1024 * 1024,
    rules: { allowed: [], allowHttp: false },
    resolve: async host => {
      t.fail(`a test asks for the address of ${host}`)
      throw new Error('no names in tests')
    },
    now: () => FIXTURE_NOW,
    countCoordinators: () => 1,
    admit: () => () => {},
    onRequest: (source, outcome) => void outcomes.push(`${source} ${outcome}`),
    onAnswer: () => {},
    onFault: error => void faults.push(error),
    wait: async () => {},
    random: () => 0,
    ...parts,
  })
  t.teardown(() => upstreams.close())
  return { upstreams, server, outcomes, faults }
}

/** Answer of a lookup, with the requests that its sources got. */
interface LookupResult<Data> extends Pick<UpstreamTest, 'server' | 'outcomes'> {
  data: Data
  sources: readonly UpstreamSource[]
  warnings: readonly UpstreamWarning[]
}

/** Runs the program of a lookup against sources of the test; its data must be of its schema. */
export const runLookup = async <Data = Record<string, unknown>>(
  t: Pick<Test, 'teardown' | 'fail'>,
  id: string,
  input: object,
  options: UpstreamTestOptions,
): Promise<LookupResult<Data>> => {
  const module = (await loadModules()).find(each => each.id === id)
  if (module === undefined || isScan(module)) throw new Error(`${id} is not a lookup`)
  const run = (await loadRun<LookupRun<object, unknown>>(module)) as LookupRun<object, unknown>
  const { upstreams, server, outcomes } = await openTestUpstreams(t, options)
  const { context, sources, warnings } = upstreams.openLookup(
    options.signal ?? new AbortController().signal,
    options.searchEntities ?? (async () => []),
  )
  const data = module.data.parse(await run(module.input.parse(input), context)) as Data
  return { data, sources, warnings, server, outcomes }
}
