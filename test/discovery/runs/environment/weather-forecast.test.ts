import t from 'tap'
import type { WeatherForecast } from '../../../../discovery/modules/environment/weather-forecast.ts'
import { runLookup, type UpstreamTestOptions } from '../../../support/upstreams.ts'

const MUNICH = { lat: 48.10009, lon: 11.50009 }
const ATLANTIC = { lat: 30, lon: -40 }

const run = (place: object, options: UpstreamTestOptions) =>
  runLookup<WeatherForecast>(t, 'weather-forecast', place, options)

t.test('MET Norway gives points of one and of six hours, and days', async t => {
  const { data, sources, warnings, server } = await run(MUNICH, { answers: { metno: 'good.json' } })
  t.equal(server.requests[0]?.path, '/locationforecast/2.0/complete?lat=48.1&lon=11.5')
  t.match(data, { elevation_m: 519, model_updated_at: '2026-03-01T09:22:10Z' })
  t.match(data.current, {
    temperature_c: 6.3,
    condition: 'showers',
    step_h: 1,
    wind_gust_m_s: null,
  })
  t.match(data.hourly[2], { condition: 'snow', step_h: 6, precipitation_mm: 6.4 })
  t.match(data.hourly[3], { condition: null, step_h: 6, precipitation_mm: null })
  t.match(data.daily[0], { date: '2026-03-01', temperature_max_c: 7.8, precipitation_mm: 0.3 })
  t.match(data.daily[0]?.sunrise, /^2026-03-01T05:\d\d/)
  t.match(sources, [{ attribution: 'Weather data: MET Norway (CC BY 4.0)', licence: 'CC-BY-4.0' }])
  t.same(warnings, [])
})

t.test('A forecast without values, or without points, is an answer', async t => {
  const nulls = await run(MUNICH, { answers: { metno: 'nulls.json' } })
  t.match(nulls.data, { elevation_m: null, current: { temperature_c: null, condition: null } })
  const { data } = await run(MUNICH, { answers: { metno: 'empty.json' } })
  t.match(data, { current: null, hourly: [], daily: [] })
  const beta = { status: 203, file: 'good.json' }
  const { warnings } = await run(MUNICH, { answers: { metno: beta } })
  t.match(warnings, [{ code: 'partial_result' }])
})

t.test('Another source is asked where the first fails', async t => {
  for (const trouble of ['html', 'limited', 'truncated', 'down'] as const) {
    const answers = { metno: trouble, brightsky: 'good.json' } as const
    const { data, warnings } = await run(MUNICH, { answers })
    t.match(data.current, { wind_speed_m_s: 3, wind_gust_m_s: 7, condition: 'partly_cloudy' })
    t.match(warnings, [{ code: 'fallback_used', source: 'bright-sky' }], trouble)
  }
})

t.test('Open-Meteo is asked only as its terms allow', async t => {
  const answers = { metno: 'html', 'open-meteo': 'good.json' } as const
  const { data, server } = await run(ATLANTIC, { answers })
  t.match(data.hourly, [
    { condition: 'hail', wind_speed_m_s: 3.1 },
    { condition: 'partly_cloudy', temperature_c: null },
  ])
  t.match(server.requests.at(-1)?.path, 'wind_speed_unit=ms')
  const refused = run(ATLANTIC, { answers: { metno: 'html' } })
  await t.rejects(refused, { name: 'UpstreamError', failure: 'malformed', source: 'metno' })
})

t.test('The site stands in for a place that is left out', async t => {
  const site = { lat: 60, lon: 10, pv_tilt_deg: 30, pv_azimuth_deg: 0 }
  const options = { answers: { metno: 'good.json' } as const, settings: { site } }
  t.match((await run({}, options)).data, { lat: 60, lon: 10 })
  await t.rejects(run({ lat: 3 }, options), { code: 'invalid_request', param: 'lon' })
  await t.rejects(run({}, { answers: {} }), { code: 'invalid_request', param: 'lat' })
})
