import type { Interlock } from '../../profile.ts'
import { FIXES_3D } from './names.ts'

/* Conditions of the verbs of a vehicle. */

export const GPS_FIX_AT_START: Interlock = {
  name: 'gps_fix',
  property: 'gps_fix',
  allowed: FIXES_3D,
}
const GPS_FIX: Interlock = { ...GPS_FIX_AT_START, isWatched: true }
/** The position filter; not every autopilot reports it. */
const EKF_HEALTHY: Interlock = {
  name: 'ekf_healthy',
  property: 'is_ekf_healthy',
  refused: [false],
  isWatched: true,
}
const INSIDE_FENCE: Interlock = {
  name: 'inside_fence',
  property: 'is_fence_breached',
  refused: [true],
  isWatched: true,
}
export const READY_TO_ARM: Interlock = {
  name: 'ready_to_arm',
  property: 'is_ready_to_arm',
  refused: [false],
}
export const ARMED: Interlock = { name: 'armed', property: 'is_armed', allowed: [true] }
export const DISARMED: Interlock = { name: 'disarmed', property: 'is_armed', allowed: [false] }
/** States of a vehicle in the air. */
export const FLYING: readonly string[] = ['in_air', 'taking_off', 'landing']
export const ON_GROUND: Interlock = {
  name: 'on_ground',
  property: 'landed_state',
  allowed: ['on_ground'],
}
export const IN_AIR: Interlock = { name: 'in_air', property: 'landed_state', allowed: FLYING }
/** An interlock that also holds for a vehicle that does not report its state. */
export const NOT_IN_AIR: Interlock = {
  name: 'on_ground',
  property: 'landed_state',
  refused: FLYING,
}

/** Checks of every motion to a place. */
export const NAVIGABLE: readonly Interlock[] = [GPS_FIX, EKF_HEALTHY, INSIDE_FENCE]
