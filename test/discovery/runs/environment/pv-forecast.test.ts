import t from 'tap'
import type { PvForecast } from '../../../../discovery/modules/environment/pv-forecast.ts'
import { tiltIrradiance } from '../../../../discovery/runs/environment/solar/irradiance.ts'
import { powerOf } from '../../../../discovery/runs/environment/solar/panels.ts'
import { runLookup, type UpstreamTestOptions } from '../../../support/upstreams.ts'

const PLACE = { lat: 48.1, lon: 11.5 }
const SEA = { lat: 30, lon: -40 }

const run = (input: object, options: UpstreamTestOptions) =>
  runLookup<PvForecast>(t, 'pv-forecast', input, options)

t.test('Power follows irradiance and temperature, up to the rated power', async t => {
  const panels = { peakPowerKw: 10 }
  for (const [irradiance, air, kw] of [
    [800, 20, 6.33],
    [200, 5, 1.815],
    [0, 20, 0],
    [2000, -30, 10],
  ] as const)
    t.ok(Math.abs(powerOf(panels, irradiance, air) - kw) < 0.001, `${irradiance} W/m²`)
})

t.test('Panels that face the sun get more than level ground, and others less', async t => {
  const at = new Date('2026-03-01T11:15:00Z')
  const facing = (tiltDegrees: number, azimuthDegrees: number): number =>
    tiltIrradiance({ ...PLACE, peakPowerKw: 1, tiltDegrees, azimuthDegrees }, at, 500)
  t.ok(Math.abs(facing(0, 0) - 500) < 1)
  t.ok(facing(40, 0) > 600)
  t.ok(facing(40, 180) < 300)
})

t.test('The estimate of a provider has spans of unequal length', async t => {
  const answers = { 'forecast-solar': 'good.json' } as const
  const { data, server } = await run({ ...PLACE, peak_power_kw: 5 }, { answers })
  t.equal(server.requests[0]?.path, '/estimate/48.1/11.5/30/0/5?time=utc&damping=0')
  t.match(data, { method: 'provider', tilt_deg: 30, azimuth_deg: 0, peak_power_kw: 5 })
  t.match(data.series[0], { start: '2026-03-01T06:12:40.000Z', energy_kwh: 0.16, power_kw: 0.203 })
  t.notOk(
    data.series.some(({ start }) => start === '2026-03-01T12:00:00.000Z'),
    'no night',
  )
  t.match(data.days[0], {
    date: '2026-03-01',
    peak_power_kw: 3,
    peak_at: '2026-03-01T11:00:00.000Z',
  })
  t.equal(data.remaining_today_kwh, 5.2)
})

t.test('A key of the provider is in the path and not in the answer', async t => {
  const sources = { 'forecast-solar': { key: 'abcdef0123456789' } }
  const answers = { 'forecast-solar': 'good.json' } as const
  const { sources: shown, server } = await run(PLACE, { answers, sources })
  t.match(server.requests[0]?.path, /^\/abcdef0123456789\/estimate\//)
  t.notMatch(JSON.stringify(shown), 'abcdef0123456789')
})

t.test('Other models stand in for the provider, and a clear sky for all', async t => {
  const limited = { status: 429, file: 'limited.json' }
  const irradiance = { 'forecast-solar': limited, 'open-meteo': 'irradiance.json' } as const
  const modelled = await run(PLACE, { answers: irradiance })
  t.match(modelled.data, {
    method: 'irradiance_model',
    series: [{ start: '2026-03-01T09:00:00.000Z', power_kw: 6.33 }, { power_kw: 1.815 }],
  })
  t.match(modelled.warnings, [{ code: 'fallback_used', source: 'open-meteo' }])

  const german = await run(PLACE, { answers: { 'forecast-solar': 'html', brightsky: 'good.json' } })
  t.match(german.data, {
    method: 'irradiance_model',
    series: [{ start: '2026-03-01T09:00:00.000Z' }],
  })
  t.ok((german.data.series[0]?.power_kw ?? 0) > 3)

  const typical = await run(SEA, { answers: { 'forecast-solar': 'html', pvgis: 'good.json' } })
  t.match(typical.data, {
    method: 'typical_year',
    days: [{ date: '2026-03-01', peak_power_kw: 7 }],
  })

  const pvgis = { status: 400, file: 'error.json' }
  const clear = await run(SEA, { answers: { 'forecast-solar': 'html', pvgis } })
  t.equal(clear.data.method, 'clear_sky')
  t.match(clear.data.days.length, 3)
  t.match(clear.sources, [])
})
