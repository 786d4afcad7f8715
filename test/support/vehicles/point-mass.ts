/** Place and motion in metres around a home: north, east and up. */
export interface MassState {
  north: number
  east: number
  up: number
  vNorth: number
  vEast: number
  vUp: number
}

/** Place that a mass is to reach, and how fast. */
export interface MassTarget {
  north: number
  east: number
  up: number
  speed_m_s: number
  up_m_s: number
  down_m_s: number
}

/** `MPC_ACC_HOR` and about `MPC_ACC_UP_MAX` of PX4. */
const ACROSS_M_S2 = 3
const UP_M_S2 = 4

/** Moves a mass for a short time towards a target with bounded accelerations; the ground holds it. */
export const moveMass = (state: MassState, target: MassTarget, seconds: number): MassState => {
  const [dNorth, dEast] = [target.north - state.north, target.east - state.east]
  const across_m = Math.hypot(dNorth, dEast)
  const wanted_m_s = Math.min(target.speed_m_s, Math.sqrt(1.4 * ACROSS_M_S2 * across_m))
  const [wNorth, wEast] =
    across_m < 0.02 ? [0, 0] : [(dNorth / across_m) * wanted_m_s, (dEast / across_m) * wanted_m_s]
  const [vNorth, vEast] = approach(
    [state.vNorth, state.vEast],
    [wNorth, wEast],
    ACROSS_M_S2 * seconds,
  )
  const dUp = target.up - state.up
  const most = dUp > 0 ? target.up_m_s : target.down_m_s
  const wUp = Math.sign(dUp) * Math.min(most, Math.sqrt(1.4 * UP_M_S2 * Math.abs(dUp)))
  const [vUp = 0] = approach([state.vUp, 0], [wUp, 0], UP_M_S2 * seconds)
  const up = state.up + vUp * seconds
  const next = {
    north: state.north + vNorth * seconds,
    east: state.east + vEast * seconds,
    ...{ vNorth, vEast },
  }
  return up > 0 ? { ...next, up, vUp } : { ...next, up: 0, vUp: 0, vNorth: 0, vEast: 0 }
}

/** Changes a velocity towards another one by at most a step. */
const approach = (
  [x, y]: readonly [number, number],
  [toX, toY]: readonly [number, number],
  step: number,
): [number, number] => {
  const [dx, dy] = [toX - x, toY - y]
  const length = Math.hypot(dx, dy)
  return length <= step ? [toX, toY] : [x + (dx / length) * step, y + (dy / length) * step]
}
