import t from 'tap'
import { SOURCES } from '../../../../discovery/upstreams/sources.ts'
import { openScene, type SceneOptions } from '../../../support/coordinator.ts'
import { answersOf, listHostileAnswers } from '../../../support/hostile-documents.ts'
import { openUpstreamServer } from '../../../support/upstream-server.ts'

const openSkills = async (config: NonNullable<SceneOptions['config']>) => {
  const { app, demo } = await openScene(t, { config })
  return async (id: string, payload: object = {}) => {
    const headers = { authorization: `Bearer ${demo.operator}` }
    const response = await app.inject({ method: 'POST', url: `/v1/skills/${id}`, headers, payload })
    return { status: response.statusCode, body: response.json(), headers: response.headers }
  }
}

t.test('A lookup is a skill that lists its sources, and fails when none answers', async t => {
  const server = await openUpstreamServer(t, { metno: 'good.json' })
  const sources = Object.fromEntries(SOURCES.map(({ id }) => [id, { url: server.urlOf(id) }]))
  const site = { lat: 48.1, lon: 11.5 }
  const run = await openSkills({ site, upstreams: { sources } })
  const weather = await run('weather-forecast')
  t.match(weather, {
    status: 200,
    body: {
      data_state: 'live',
      data: { lat: 48.1, hourly: [{ temperature_c: 6.3 }, {}, {}, {}] },
      sources: [{ name: 'met-norway', cache: 'miss', licence: 'CC-BY-4.0' }],
      warnings: [],
    },
  })
  const air = await run('air-quality')
  t.match(air, { status: 503, body: { error: { code: 'upstream_unavailable' } } })
  t.match(air.headers, { 'retry-after': /^\d+$/ })
  const zone = await run('energy-price', { zone: 'XX' })
  t.match(zone, { status: 422, body: { error: { param: 'zone' } } })
})

t.test('A place that nobody names is a fault of the request', async t => {
  const run = await openSkills({})
  const answer = await run('pv-forecast')
  t.match(answer, { status: 422, body: { error: { code: 'invalid_request', param: 'lat' } } })
})

t.test('A hostile answer of a source is refused or left out by every lookup', async t => {
  const hostile = listHostileAnswers()
  const server = await openUpstreamServer(t, answersOf(hostile))
  const urls = Object.fromEntries(SOURCES.map(({ id }) => [id, { url: server.urlOf(id) }]))
  const sources = { ...urls, entsoe: { ...urls.entsoe, key: 'sesame' } }
  const run = await openSkills({ site: { lat: 48.1, lon: 11.5 }, upstreams: { sources } })
  const answers = new Map<string, string>()
  for (const { source, skill, input } of hostile) {
    const { status, body } = await run(skill, input)
    answers.set(source, `${status} ${JSON.stringify(body.error?.message ?? body.data)}`)
  }
  // a map is no leaderboard, so that no source has one
  t.match(answers.get('aider'), /^503/)
  t.match(answers.get('arxiv'), /^200.*"items":\[\]/)
  t.match(answers.get('entsoe'), /^503.*entsoe: its answer has more than 50000 values/)
  t.match(answers.get('metno'), /^503.*metno: its answer nests deeper than 64 levels/)
  t.match(answers.get('celestrak'), /^503.*celestrak: its answer has more than 50000 values/)
})
