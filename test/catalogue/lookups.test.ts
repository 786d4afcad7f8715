import t, { type Test } from 'tap'
import { loadRun } from '../../discovery/load.ts'
import type { LookupRun } from '../../discovery/lookup-run.ts'
import { isScan } from '../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import { UpstreamError } from '../../discovery/upstreams/client.ts'
import type { SourceSettings } from '../../discovery/upstreams/settings.ts'
import type { Source } from '../../discovery/upstreams/source.ts'
import { SOURCES } from '../../discovery/upstreams/sources.ts'
import { fixtureFor, LOOKUP_CASES, type LookupCase } from '../support/lookup-cases.ts'
import type { SourceAnswer } from '../support/upstream-server.ts'
import { FIXTURE_NOW, openTestUpstreams } from '../support/upstreams.ts'

const LOOKUPS = DISCOVERY_MODULES.filter(module => !isScan(module))
/** Sources that are asked by another protocol, or at an address that an answer names. */
const ASKED_OTHERWISE = ['dns', 'whois', 'matrix', 'rdap-bootstrap']
/** Sources of an operator's own accounts and servers, whose data nobody else has to be named for. */
const WITHOUT_ATTRIBUTION = ['dns', 'matrix', 'hetzner', 'digitalocean', 'rdap-bootstrap']
const SITE = { lat: 48.1, lon: 11.5, pv_tilt_deg: 30, pv_azimuth_deg: 0 }

const findSource = (id: string): Source => {
  const source = SOURCES.find(each => each.id === id)
  if (source === undefined) throw new Error(`there is no source ${id}`)
  return source
}

/** The lookup of a case before a server whose answers of the one source a test sets. */
const open = async (
  t: Test,
  { module: id, source, input = {}, settings, files, beside }: LookupCase,
) => {
  const module = LOOKUPS.find(each => each.id === id)
  if (module === undefined || isScan(module)) throw new Error(`${id} is not a lookup`)
  const run = (await loadRun<LookupRun<object>>(module)) as LookupRun<object>
  const good: SourceAnswer = ({ path }) => ({ file: fixtureFor(files, path) })
  const state: { answer: SourceAnswer; now: number } = { answer: good, now: FIXTURE_NOW }
  const answers: Record<string, SourceAnswer> = Object.fromEntries(
    SOURCES.filter(each => !ASKED_OTHERWISE.includes(each.id)).map(each => [each.id, 'down']),
  )
  for (const [other, others] of Object.entries(beside ?? {}))
    answers[other] = ({ path }) => ({ file: fixtureFor(others, path) })
  answers[source] = request =>
    typeof state.answer === 'function' ? state.answer(request) : state.answer
  const sources: Record<string, SourceSettings> = {
    dns: { servers: ['127.0.0.1:1'] },
    whois: { url: 'whois://127.0.0.1:1' },
    [source]: settings ?? {},
    ...(id === 'registry-search' && { 'mcp-registry': { origins: [ORIGINS[source]] } }),
  }
  const { upstreams, server, outcomes } = await openTestUpstreams(t, {
    answers,
    sources,
    settings: { site: SITE },
    now: () => state.now,
  })
  /** Data of a run with what it says of its sources, or the failure of the sources. */
  const look = async () => {
    const lookup = upstreams.openLookup(new AbortController().signal, async () => [])
    try {
      const data = module.data.parse(await run(module.input.parse(input), lookup.context))
      return { data, failure: undefined, sources: lookup.sources, warnings: lookup.warnings }
    } catch (failure) {
      if (!(failure instanceof UpstreamError)) throw failure
      return { data: undefined, failure, sources: lookup.sources, warnings: lookup.warnings }
    }
  }
  const countRequests = () => server.requests.filter(each => each.source === source).length
  return { look, state, outcomes, countRequests }
}

/** Origin by the source of a registry. */
const ORIGINS: Readonly<Record<string, string>> = {
  'mcp-registry': 'mcp',
  npm: 'npm',
  dockerhub: 'docker',
}

t.test('every lookup and every source of the product has a case', async t => {
  const offline = ['runtime-pull-recommend', 'dns-scan', 'matrix-discover']
  t.strictSame(
    new Set([...LOOKUP_CASES.map(({ module }) => module), ...offline]),
    new Set(LOOKUPS.map(({ id }) => id)),
  )
  t.equal(LOOKUPS.length, 19)
  t.strictSame(
    new Set([...LOOKUP_CASES.map(({ source }) => source), ...ASKED_OTHERWISE]),
    new Set(SOURCES.map(({ id }) => id)),
  )
})

t.test(
  'every source has a budget, and a cache whose answers may stand in for a failure',
  async t => {
    for (const { id, rate, concurrency, ttlSeconds, maxStaleSeconds, attribution } of SOURCES) {
      t.ok(rate.requests > 0 && rate.perSeconds > 0 && concurrency > 0, `${id} has a budget`)
      t.ok(id === 'dns' || (ttlSeconds > 0 && maxStaleSeconds > ttlSeconds), `${id} has a cache`)
      t.equal(attribution === null, WITHOUT_ATTRIBUTION.includes(id), `${id} names its authors`)
    }
  },
)

for (const each of LOOKUP_CASES) {
  const source = findSource(each.source)
  t.test(`${each.module} with ${source.id}`, async t => {
    t.test('passes a good answer on with the licence and the attribution', async t => {
      const { look } = await open(t, each)
      const { data, failure, sources } = await look()
      t.equal(failure, undefined)
      t.ok(data)
      const { name, licence, attribution } = source
      t.match(
        sources.find(listed => listed.name === name),
        { name, licence, attribution, cache: 'miss', age_s: 0 },
      )
    })

    for (const [trouble, outcome] of [
      ['limited', 'rate_limited'],
      ['html', 'malformed'],
      ['slow', 'timed_out'],
    ] as const)
      t.test(`${trouble} is ${outcome}, and is told`, async t => {
        const { timeoutSeconds } = source
        const shortened: { timeoutSeconds?: number } = source
        if (trouble === 'slow') shortened.timeoutSeconds = 0.05
        t.teardown(() => {
          if (timeoutSeconds === undefined) delete shortened.timeoutSeconds
          else shortened.timeoutSeconds = timeoutSeconds
        })
        const { look, state, outcomes, countRequests } = await open(t, each)
        state.answer = trouble
        const { failure, warnings } = await look()
        t.ok(outcomes.includes(`${source.id} ${outcome}`))
        t.ok(failure !== undefined || warnings.length > 0, 'the caller is told')
        if (trouble !== 'limited') return
        if (failure !== undefined) t.ok((failure.retryAfterSeconds ?? 0) <= 3600)
        const before = countRequests()
        await look()
        t.equal(countRequests(), before, 'it is left alone for as long as it has asked')
      })

    t.test('answers from an older answer while the source is down, and not for ever', async t => {
      const { look, state } = await open(t, each)
      const isStale = ({ sources }: Awaited<ReturnType<typeof look>>) =>
        sources.some(({ name, cache }) => name === source.name && cache === 'stale')
      await look()
      state.answer = 'down'
      state.now += (source.ttlSeconds + 1) * 1000
      const stale = await look()
      t.ok(isStale(stale))
      t.ok(
        stale.warnings.some(
          ({ code, source: named }) => code === 'stale_data' && named === source.name,
        ),
      )
      state.now += Math.min(source.maxStaleSeconds, 365 * 86_400) * 1000
      if (Number.isFinite(source.maxStaleSeconds)) t.notOk(isStale(await look()))
    })
  })
}
