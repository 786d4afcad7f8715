import * as z from 'zod'
import { type DeviceProfile, type DeviceVerb, defineProfile, defineVerb } from '../../profile.ts'
import { planCommand } from './plan-command.ts'
import { LIGHT_PROPERTIES, SENSOR_PROPERTIES, SWITCH_PROPERTIES } from './properties.ts'

type VerbFacts = Pick<DeviceVerb, 'description' | 'hazard' | 'isIdempotent'>

const createVerb = (
  verb: string,
  facts: VerbFacts,
  params: z.ZodObject = z.strictObject({}),
): DeviceVerb =>
  defineVerb({
    ...facts,
    params,
    timeoutSeconds: 10,
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

export const createSensorProfile = (names: ProfileNames): DeviceProfile =>
  defineProfile({
    ...names,
    kind: 'sensor',
    link: 'mqtt',
    properties: SENSOR_PROPERTIES,
    atEstop: 'none',
    verbs: {},
  })
