import * as z from 'zod'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { type DeviceProfile, type DeviceVerb, defineProfile, defineVerb } from '../../profile.ts'
import { planCommand } from './plan-command.ts'
import {
  COVER_PROPERTIES,
  LIGHT_PROPERTIES,
  LOCK_PROPERTIES,
  SENSOR_PROPERTIES,
  SIREN_PROPERTIES,
  SWITCH_PROPERTIES,
} from './properties.ts'

type VerbFacts = Pick<DeviceVerb, 'description' | 'hazard' | 'isIdempotent'> &
  Partial<Pick<DeviceVerb, 'gate' | 'isUrgent' | 'timeoutSeconds'>>

const createVerb = (
  verb: string,
  facts: VerbFacts,
  params: z.ZodObject = z.strictObject({}),
): DeviceVerb =>
  defineVerb({
    timeoutSeconds: 10,
    ...facts,
    params,
    atEstop: 'none',
    plan: (given, target) => ({ operations: [planCommand(verb, given, target)] }),
  })

type ProfileNames = Pick<DeviceProfile, 'id' | 'title'>

/**
 * A switch with an unknown load. Switching it on is unsafe, because it may be a heater or a motor;
 * switching it off is not safe either, because it may be a cooling.
 */
export const createSwitchProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'switch',
    link: 'mqtt',
    properties: SWITCH_PROPERTIES,
    atEstop: 'cut',
    verbs: {
      on: createVerb('on', {
        description: 'Switch the load on.',
        hazard: 'unsafe',
        isIdempotent: true,
      }),
      off: createVerb('off', {
        description: 'Switch the load off.',
        hazard: 'caution',
        isIdempotent: true,
      }),
      toggle: createVerb('toggle', {
        description: 'Switch the load to its other state.',
        hazard: 'unsafe',
        isIdempotent: false,
      }),
    },
  })

export const createLightProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'light',
    link: 'mqtt',
    properties: LIGHT_PROPERTIES,
    atEstop: 'none',
    verbs: {
      on: createVerb('on', {
        description: 'Switch the light on.',
        hazard: 'caution',
        isIdempotent: true,
      }),
      off: createVerb('off', {
        description: 'Switch the light off.',
        hazard: 'caution',
        isIdempotent: true,
      }),
      brightness: createVerb(
        'brightness',
        {
          description: 'Set the brightness, which switches the light on.',
          hazard: 'caution',
          isIdempotent: true,
        },
        z.strictObject({ percent: z.int().min(1).max(100) }),
      ),
    },
  })

/** Longest travel of a large gate, in seconds. */
const TRAVEL_SECONDS = 120

interface CoverOptions extends ProfileNames {
  /** True when an open cover lets people in. */
  isEntrance?: boolean
}

/**
 * A shutter, awning, door or gate. Its motor can crush and tear in both directions. Opening an
 * entrance lets people in, like unlocking a door.
 */
export const createCoverProfile = ({ isEntrance, ...names }: CoverOptions): DeviceProfile => {
  const motion = { hazard: 'unsafe', isIdempotent: true, timeoutSeconds: TRAVEL_SECONDS } as const
  const opening = { ...motion, ...(isEntrance && { gate: CRITICAL_GATE }) }
  return defineProfile({
    ...names,
    kind: 'other',
    link: 'mqtt',
    properties: COVER_PROPERTIES,
    atEstop: 'hold',
    verbs: {
      open: createVerb('open', { ...opening, description: 'Open it completely.' }),
      close: createVerb('close', { ...motion, description: 'Close it completely.' }),
      position: createVerb(
        'position',
        { ...opening, description: 'Move it to a position; 100 percent is open.' },
        z.strictObject({ percent: z.int().min(0).max(100) }),
      ),
      stop: createVerb('stop', {
        description: 'Stop its motor.',
        hazard: 'safe',
        isUrgent: true,
        isIdempotent: true,
      }),
    },
  })
}

/**
 * A door lock. Unlocking lets anybody in, which nothing undoes: two persons approve it. Locking may
 * shut somebody out or in, who finds a handle or a key.
 */
export const createLockProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'other',
    link: 'mqtt',
    properties: LOCK_PROPERTIES,
    atEstop: 'none',
    verbs: {
      lock: createVerb('lock', {
        description: 'Lock it.',
        hazard: 'caution',
        isIdempotent: true,
        timeoutSeconds: 30,
      }),
      unlock: createVerb('unlock', {
        description: 'Unlock it, so that anybody can enter.',
        hazard: 'unsafe',
        gate: CRITICAL_GATE,
        isIdempotent: true,
        timeoutSeconds: 30,
      }),
      open: createVerb('open', {
        description: 'Unlock it and draw the latch back.',
        hazard: 'unsafe',
        gate: CRITICAL_GATE,
        isIdempotent: true,
        timeoutSeconds: 30,
      }),
    },
  })

/**
 * A siren. Its sound makes people flee and hurts ears nearby. An e-stop leaves it alone: it may be
 * warning of what the e-stop was for.
 */
export const createSirenProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'other',
    link: 'mqtt',
    properties: SIREN_PROPERTIES,
    atEstop: 'none',
    verbs: {
      on: createVerb('on', {
        description: 'Sound the alarm until it is switched off.',
        hazard: 'unsafe',
        isIdempotent: true,
      }),
      sound: createVerb(
        'sound',
        {
          description: 'Sound the alarm for a time.',
          hazard: 'unsafe',
          isIdempotent: false,
        },
        z.strictObject({ seconds: z.int().min(1).max(300) }),
      ),
      off: createVerb('off', {
        description: 'Silence the alarm.',
        hazard: 'caution',
        isIdempotent: true,
      }),
    },
  })

export const createSensorProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'sensor',
    link: 'mqtt',
    properties: SENSOR_PROPERTIES,
    atEstop: 'none',
    verbs: {},
  })
