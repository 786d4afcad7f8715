import { twoline2satrec } from 'satellite.js'
import t from 'tap'
import type { IssPosition } from '../../../../discovery/modules/satellite/iss-position.ts'
import { locate } from '../../../../discovery/runs/satellite/iss/orbit.ts'
import { FIXTURE_NOW, runLookup, type UpstreamTestOptions } from '../../../support/upstreams.ts'

const DAY_MS = 86_400_000

const run = (options: UpstreamTestOptions) => runLookup<IssPosition>(t, 'iss-position', {}, options)

t.test('SGP4 gives the known position for known elements', async t => {
  const satellite = twoline2satrec(
    '1 25544U 98067A   19156.50900463  .00003075  00000-0  59442-4 0  9992',
    '2 25544  51.6433  59.2583 0008217  16.4489 347.6017 15.51174618173442',
  )
  const point = locate(satellite, new Date('2019-06-05T12:12:58Z'))
  if (point === undefined) throw new Error('it has no position')
  t.ok(Math.abs(point.lat - 3.1012) < 0.0001, `${point.lat}`)
  t.ok(Math.abs(point.lon + 15.1774) < 0.0001, `${point.lon}`)
  t.ok(Math.abs(point.altitudeKm - 408.24) < 0.01, `${point.altitudeKm}`)
  t.equal(locate(satellite, new Date('2038-11-01T00:00:00Z')), undefined, 'after its decay')
})

t.test('The position is calculated from orbital elements', async t => {
  const { data, sources, server } = await run({ answers: { celestrak: 'good.json' } })
  t.equal(server.requests[0]?.path, '/NORAD/elements/gp.php?CATNR=25544&FORMAT=json')
  t.match(data, { method: 'sgp4', at: '2026-03-01T10:05:00.000Z', elements_age_h: 5.9 })
  t.ok(Math.abs(data.lat) < 52)
  t.ok((data.altitude_km ?? 0) > 380 && (data.altitude_km ?? 0) < 460)
  t.ok((data.velocity_kmh ?? 0) > 27_000 && (data.velocity_kmh ?? 0) < 28_000)
  t.type(data.sunlit, 'boolean')
  t.match(sources, [{ attribution: 'Orbital data: CelesTrak' }])
})

t.test('Old elements are told, and older ones are not used', async t => {
  const answers = { celestrak: 'good.json', wheretheiss: 'good.json' } as const
  const old = await run({ answers, now: () => FIXTURE_NOW + 4 * DAY_MS })
  t.match(old.warnings, [{ code: 'stale_data', source: 'celestrak' }])
  const older = await run({ answers, now: () => FIXTURE_NOW + 15 * DAY_MS })
  t.match(older.data, { method: 'provider', lat: -28.4, footprint_km: 4522.1, sunlit: true })
  t.match(older.warnings, [{ code: 'fallback_used', source: 'wheretheiss' }])
})

t.test('A refusal of CelesTrak leads to other services, and is not repeated', async t => {
  const blocked = {
    status: 403,
    body: 'GP data has not updated since your last successful download',
  }
  const text = { status: 200, body: 'No GP data found', headers: { 'content-type': 'text/plain' } }
  for (const celestrak of [blocked, text]) {
    const answers = { celestrak, wheretheiss: 'down', 'open-notify': 'good.json' } as const
    const { data, server } = await run({ answers })
    t.match(data, { lat: -28.4, lon: 140.2, altitude_km: null, method: 'provider' })
    t.equal(server.requests.filter(({ source }) => source === 'celestrak').length, 1)
  }
})
