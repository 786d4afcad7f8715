const RADIANS = Math.PI / 180
const [A, B, F] = [6_378_137, 6_356_752.314245, 1 / 298.257223563]

/**
 * Distance of two points on the WGS 84 ellipsoid in metres, by the inverse formula of Vincenty (Survey
 * Review 176, 1975). It does not converge for points on opposite sides of the earth.
 */
export const measureGeodesic = (
  one: { lat: number; lon: number },
  other: { lat: number; lon: number },
): number => {
  const [u1, u2] = [one, other].map(({ lat }) => Math.atan((1 - F) * Math.tan(lat * RADIANS)))
  const [sin1, cos1] = [Math.sin(u1 as number), Math.cos(u1 as number)]
  const [sin2, cos2] = [Math.sin(u2 as number), Math.cos(u2 as number)]
  const turn = (((other.lon - one.lon + 540) % 360) - 180) * RADIANS
  let lambda = turn
  for (let step = 0; step < 100; step++) {
    const [sinL, cosL] = [Math.sin(lambda), Math.cos(lambda)]
    const sinS = Math.hypot(cos2 * sinL, cos1 * sin2 - sin1 * cos2 * cosL)
    if (sinS === 0) return 0
    const cosS = sin1 * sin2 + cos1 * cos2 * cosL
    const sigma = Math.atan2(sinS, cosS)
    const sinA = (cos1 * cos2 * sinL) / sinS
    const cos2A = 1 - sinA ** 2
    const cosM = cos2A === 0 ? 0 : cosS - (2 * sin1 * sin2) / cos2A
    const c = (F / 16) * cos2A * (4 + F * (4 - 3 * cos2A))
    const before = lambda
    lambda =
      turn + (1 - c) * F * sinA * (sigma + c * sinS * (cosM + c * cosS * (2 * cosM ** 2 - 1)))
    if (Math.abs(lambda - before) > 1e-13) continue
    const k = (cos2A * (A ** 2 - B ** 2)) / B ** 2
    const a = 1 + (k / 16384) * (4096 + k * (-768 + k * (320 - 175 * k)))
    const b = (k / 1024) * (256 + k * (-128 + k * (74 - 47 * k)))
    const last = (b / 6) * cosM * (4 * sinS ** 2 - 3) * (4 * cosM ** 2 - 3)
    const delta = b * sinS * (cosM + (b / 4) * (cosS * (2 * cosM ** 2 - 1) - last))
    return B * a * (sigma - delta)
  }
  throw new RangeError('the points are nearly opposite')
}
