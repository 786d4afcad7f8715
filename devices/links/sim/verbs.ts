import * as z from 'zod'
import type { EstopBehaviour, PropertyFacts } from '../../../shared/wire/device.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { type DeviceVerb, defineVerb, type Json, type RestConditions } from '../../profile.ts'
import type { SimOperation } from './operations.ts'

/** Operations that a device has begun, which shows that a command ran once. */
export const EXECUTED_COUNT: PropertyFacts = {
  title: 'Operations begun',
  type: 'number',
  min: 0,
  stale_after_ms: 60_000,
}

/** Fastest speed of a simulated device that counts as rest, see `REST_M_S` of its body. */
export const RESTS_BY_SPEED: RestConditions = [[{ property: 'speed_m_s', max: 0.02 }]]

/** Motion up to this speed is caution; faster motion is unsafe. */
export const SLOW_M_S = 0.3

/** Parameter of a motion that two persons must approve when it is true. */
export const OVERRIDE_GEOFENCE = z
  .boolean()
  .default(false)
  .describe('Leave the geofence; two persons must approve it.')

interface Override {
  override_geofence: boolean
}

export const chooseMotionGate = ({ override_geofence }: Override): string | undefined =>
  override_geofence ? CRITICAL_GATE : undefined

/** Bounds of a motion that may leave the geofence. */
export const limitMotion = ({ override_geofence }: Override): Record<string, Json> =>
  override_geofence ? { override_geofence } : {}

/** Operations of a plan, typed on the way in. */
export const listOperations = (...operations: SimOperation[]): Json[] => operations

/** Creates a verb that only reduces risk: it skips every queue and gate. */
export const createHaltVerb = (description: string, behaviour: EstopBehaviour): DeviceVerb =>
  defineVerb({
    description,
    params: z.strictObject({}),
    hazard: 'safe',
    isUrgent: true,
    isIdempotent: true,
    timeoutSeconds: 60,
    atEstop: behaviour,
    plan: () => ({ operations: listOperations({ op: 'halt', behaviour }) }),
  })

/** Creates a verb without parameters that is one operation. */
export const createPlainVerb = (
  operation: SimOperation,
  verb: Omit<DeviceVerb, 'params' | 'plan'>,
): DeviceVerb =>
  defineVerb({
    ...verb,
    params: z.strictObject({}),
    plan: () => ({ operations: listOperations(operation) }),
  })
