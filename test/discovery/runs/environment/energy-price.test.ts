import t from 'tap'
import type { EnergyPrice } from '../../../../discovery/modules/environment/energy-price.ts'
import { windowOf } from '../../../../discovery/runs/environment/price/market-day.ts'
import { runLookup, type UpstreamTestOptions } from '../../../support/upstreams.ts'

const run = (input: object, options: UpstreamTestOptions) =>
  runLookup<EnergyPrice>(t, 'energy-price', input, options)

t.test('The prices of today are listed by quarter hour, with the cheapest hours ahead', async t => {
  const { data, server, warnings } = await run({}, { answers: { 'energy-charts': 'good.json' } })
  t.equal(server.requests[0]?.path, '/price?bzn=DE-LU&start=2026-03-01&end=2026-03-01')
  t.match(data, { zone: 'DE-LU', resolution_minutes: 15, tomorrow_available: false })
  t.equal(data.prices.length, 95)
  t.match(data.current, { start: '2026-03-01T10:00:00.000Z', end: '2026-03-01T10:15:00.000Z' })
  t.match(data.stats, { min_eur_mwh: -12.5, negative_slots: 2 })
  t.match(
    data.cheapest.map(({ hours }) => hours),
    [1, 3, 6],
  )
  t.match(data.cheapest[0], { start: '2026-03-01T11:00:00.000Z', end: '2026-03-01T12:00:00.000Z' })
  t.match(warnings, [{ code: 'partial_result', message: /^1 prices/ }])
})

t.test('A licence that is not open is told', async t => {
  const { data, warnings } = await run(
    { zone: 'CH' },
    { answers: { 'energy-charts': 'restricted.json' } },
  )
  t.match(data, { resolution_minutes: 60 })
  t.match(warnings, [{ code: 'licence_restricted' }])
})

t.test('Each source stands in for those before it', async t => {
  const smard = ({ path }: { path: string }) =>
    path.includes('index') ? 'index.json' : 'block.json'
  const second = await run({}, { answers: { 'energy-charts': 'html', smard } })
  t.match(second.data, { resolution_minutes: 15, prices: { length: 60 } })
  t.equal(second.server.requests.filter(({ source }) => source === 'smard').length, 3)

  const failed = { 'energy-charts': { status: 404 }, smard: 'html' } as const
  const third = await run({}, { answers: { ...failed, awattar: 'good.json' } })
  t.match(third.data, { resolution_minutes: 60, current: { eur_mwh: 51, ct_kwh: 5.1 } })
  t.match(third.warnings, [{ code: 'fallback_used', source: 'awattar' }])

  const sources = { entsoe: { key: 'sesame' } }
  const answers = { ...failed, awattar: 'down', entsoe: 'good.xml' } as const
  const fourth = await run({}, { answers, sources })
  t.equal(fourth.data.prices.length, 24)
  t.match(fourth.data.current, { eur_mwh: -3.25 })
  t.equal(fourth.data.prices[10]?.eur_mwh, 50.5, 'a price that is left out is the one before')
  t.match(fourth.server.requests.at(-1)?.path, 'periodStart=202602282300')
  t.notMatch(JSON.stringify(fourth.sources), 'sesame')

  const none = { ...failed, awattar: 'down', entsoe: 'empty.xml' } as const
  await t.rejects(run({}, { answers: none, sources }), { name: 'UpstreamError' })
  const retired = { 'energy-charts': { status: 500 } }
  await t.rejects(run({ zone: 'DE-AT-LU' }, { answers: retired }), { name: 'UpstreamError' })
})

t.test('A day has as many hours as the clock of its zone gives it', async t => {
  for (const [now, zone, today, tomorrow, end] of [
    ['2026-03-28T12:00Z', 'DE-LU', '2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00'],
    ['2026-10-25T12:00Z', 'DE-LU', '2026-10-24T22:00', '2026-10-25T23:00', '2026-10-26T23:00'],
    ['2026-06-30T23:30Z', 'PT', '2026-06-30T23:00', '2026-07-01T23:00', '2026-07-02T23:00'],
    ['2026-01-10T12:00Z', 'FI', '2026-01-09T22:00', '2026-01-10T22:00', '2026-01-11T22:00'],
  ] as const) {
    const window = windowOf(zone, Date.parse(now))
    const times = [window.today, window.tomorrow, window.end]
    t.same(
      times.map(at => new Date(at).toISOString().slice(0, 16)),
      [today, tomorrow, end],
      `${zone} ${now}`,
    )
  }
})
