import t from 'tap'
import type { AirQuality } from '../../../../discovery/modules/environment/air-quality.ts'
import { toMicrograms } from '../../../../discovery/runs/environment/air/concentration.ts'
import { runLookup, type UpstreamTestOptions } from '../../../support/upstreams.ts'

const PLACE = { lat: 48.1, lon: 11.5 }

const run = (input: object, options: UpstreamTestOptions) =>
  runLookup<AirQuality>(t, 'air-quality', input, options)

t.test(
  'Private sensors are read once each, outdoors, where their values are plausible',
  async t => {
    const answers = { 'sensor-community': 'good.json' } as const
    const { data, server, warnings } = await run(PLACE, { answers })
    t.equal(server.requests[0]?.path, '/airrohr/v1/filter/area=48.1,11.5,10')
    t.same(
      data.stations.map(({ id, readings }) => [id, readings]),
      [
        ['81233', { pm10_ug_m3: 14.43, pm2_5_ug_m3: 8.1 }],
        ['81234', { pm2_5_ug_m3: 10.1, temperature_c: 6.4 }],
        [
          '81235',
          { pressure_hpa: 956.13, pressure_at_sea_level_hpa: 1017.12, humidity_percent: 70.2 },
        ],
      ],
    )
    t.match(data.pollutants, [
      { pollutant: 'pm2_5', value_ug_m3: 9.1, method: 'measured_median', stations: 2 },
      { pollutant: 'pm10', value_ug_m3: 14.43, stations: 1, at: '2026-03-01T10:03:50.000Z' },
    ])
    t.match(warnings, [{ code: 'unparsed_record' }])
  },
)

t.test('A place without sensors has an empty answer', async t => {
  const { data } = await run(PLACE, { answers: { 'sensor-community': 'empty.json' } })
  t.match(data, { index: null, pollutants: [], stations: [] })
})

t.test('Public stations and the model are added where they may be asked', async t => {
  const { data, server, warnings } = await run(
    { ...PLACE, radius_km: 30 },
    {
      answers: {
        'sensor-community': 'down',
        'open-meteo-aq': 'good.json',
        openaq: ({ path }) => (path.startsWith('/locations?') ? 'locations.json' : 'latest.json'),
      },
      sources: { openaq: { key: 'sesame' } },
    },
  )
  const openaq = server.requests.filter(({ source }) => source === 'openaq')
  t.match(openaq, [{ headers: { 'x-api-key': 'sesame' } }, { path: '/locations/2162/latest' }])
  t.match(openaq[0]?.path, 'radius=25000')
  t.match(data.stations, [
    { network: 'openaq', low_cost: false, readings: { no2_ug_m3: 19.12, pm2_5_ug_m3: 7.25 } },
  ])
  t.match(data.index, { scheme: 'european_aqi', value: 34, category: 'fair' })
  t.match(data.pollutants.filter(({ method }) => method === 'modelled').length, 5)
  t.match(
    warnings.map(({ code }) => code),
    ['partial_result', 'partial_result'],
  )
})

t.test('Without any source the lookup fails', async t => {
  for (const trouble of ['html', 'limited', 'truncated', 'down'] as const)
    await t.rejects(run(PLACE, { answers: { 'sensor-community': trouble } }), {
      name: 'UpstreamError',
    })
})

t.test('Concentrations are in micrograms, whichever sign of micro is used', async t => {
  t.equal(toMicrograms('pm10', 5, '\u03bcg/m³'), 5)
  t.equal(toMicrograms('pm10', 5, '\u00b5g/m³'), 5)
  t.ok(Math.abs((toMicrograms('co', 1, 'ppm') ?? 0) - 1164.2) < 0.1)
  t.equal(toMicrograms('pm10', 5, 'ppm'), undefined)
})
