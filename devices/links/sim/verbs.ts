import * as z from 'zod'
import type { EstopBehaviour, PropertyFacts } from '../../../shared/wire/device.ts'
import { type DeviceVerb, defineVerb, type Json } from '../../profile.ts'
import type { SimOperation } from './operations.ts'

/** Operations that a device has begun, which shows that a command ran once. */
export const EXECUTED_COUNT: PropertyFacts = {
  title: 'Operations begun',
  type: 'number',
  min: 0,
  stale_after_ms: 60_000,
}

/** Motion up to this speed is caution; faster motion is unsafe. */
export const SLOW_M_S = 0.3

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
