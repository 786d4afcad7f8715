import fc from 'fast-check'
import t from 'tap'
import { createSiteFrame, MAX_SITE_M } from '../../../devices/swarm/site-frame.ts'
import { SiteOrigin } from '../../../shared/wire/formation.ts'
import { measureGeodesic } from '../../support/geodesic.ts'

const originAt = (lat: number, lon: number, x_bearing_degrees = 90) =>
  SiteOrigin.parse({ lat, lon, x_bearing_degrees })

t.test('a hundredth of a degree has its published length at each latitude', t => {
  // lengths of a degree of latitude and longitude on WGS 84, in metres
  for (const [lat, north_m, east_m] of [
    [0, 110_574.3, 111_319.5],
    [45, 111_131.8, 78_846.8],
    [-60, 111_412.2, 55_800.2],
  ] as const) {
    const { toLocal } = createSiteFrame(originAt(lat, 11.5))
    const north = toLocal({ lat: lat + 0.005, lon: 11.5 })
    const south = toLocal({ lat: lat - 0.005, lon: 11.5 })
    const east = toLocal({ lat, lon: 11.51 })
    t.ok(Math.abs((north?.y ?? 0) - (south?.y ?? 0) - north_m / 100) < 0.01, `${lat} north`)
    t.ok(Math.abs((east?.x ?? 0) - east_m / 100) < 0.01, `${lat} east`)
  }
  t.end()
})

t.test('a site may lie on a pole, on the antimeridian, and have an axis of its own', t => {
  const pole = createSiteFrame(originAt(90, 0))
  const around = [0, 90, 180, -90].map(lon => pole.toLocal({ lat: 89.999, lon }))
  for (const point of around)
    t.ok(Math.abs(Math.hypot(point?.x ?? 0, point?.y ?? 0) - 111.69) < 0.01)
  t.ok((around[0]?.y ?? 0) < -111 && (around[2]?.y ?? 0) > 111 && (around[1]?.x ?? 0) > 111)

  const fiji = createSiteFrame(originAt(-16.5, 180))
  t.ok(Math.abs((fiji.toLocal({ lat: -16.5, lon: -179.999 })?.x ?? 0) - 106.75) < 0.05)
  t.ok(Math.abs((fiji.toLocal({ lat: -16.5, lon: 179.999 })?.x ?? 0) + 106.75) < 0.05)
  t.match(fiji.toGlobe({ x: 50, y: 0 })?.lon.toFixed(4), '-179.9995')

  const turned = createSiteFrame(originAt(48.1, 11.5, 0)).toLocal({ lat: 48.101, lon: 11.5 })
  t.ok((turned?.x ?? 0) > 111 && Math.abs(turned?.y ?? 1) < 0.001, 'x points north')
  t.end()
})

t.test('a point beyond the largest site has no metres', t => {
  const { toLocal, toGlobe } = createSiteFrame(originAt(48.1, 11.5))
  t.equal(toLocal({ lat: 48.3, lon: 11.5 }), undefined)
  t.equal(toLocal({ lat: -48.1, lon: -168.5 }), undefined, 'the opposite side of the earth')
  t.equal(toGlobe({ x: MAX_SITE_M, y: 1 }), undefined)
  t.end()
})

/** Anywhere, and often at a pole, the equator or the antimeridian. */
const Origin = fc.record({
  lat: fc.oneof(
    fc.double({ min: -90, max: 90, noNaN: true }),
    fc.constantFrom(-90, 0, 89.9999, 90),
  ),
  lon: fc.oneof(
    fc.double({ min: -180, max: 180, noNaN: true }),
    fc.constantFrom(-180, -179.9999, 0, 180),
  ),
  x_bearing_degrees: fc.double({ min: -360, max: 360, noNaN: true }),
})
const Metres = fc.double({ min: -14_000, max: 14_000, noNaN: true })
const Place = fc.record({ x: Metres, y: Metres })

t.test('metres to degrees and back are the same to a micrometre, and distances hold', t => {
  fc.assert(
    fc.property(Origin, Place, Place, (origin, one, other) => {
      const { toLocal, toGlobe } = createSiteFrame(origin)
      const [a, b] = [toGlobe(one), toGlobe(other)]
      if (a === undefined || b === undefined) return false
      const back = toLocal(a)
      if (back === undefined || Math.hypot(back.x - one.x, back.y - one.y) > 1e-6) return false
      const [planned_m, true_m] = [
        Math.hypot(one.x - other.x, one.y - other.y),
        measureGeodesic(a, b),
      ]
      return Math.abs(true_m - planned_m) <= 5e-6 * true_m + 1e-3
    }),
    { numRuns: 300 },
  )
  t.end()
})
