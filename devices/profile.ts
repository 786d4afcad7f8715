import type * as z from 'zod'
import type { Hazard } from '../shared/wire/command.ts'
import type {
  DeviceKind,
  EstopBehaviour,
  LinkKind,
  PropertyFacts,
  PropertyValue,
} from '../shared/wire/device.ts'
import type { Frame, SafetyEnvelope } from '../shared/wire/safety-envelope.ts'

export type Json = z.core.util.JSONType

/** Condition on a property that must hold before a verb begins. */
export interface Interlock {
  /** Name of the check: `printer_idle`. */
  name: string
  property: string
  /** Allowed values; any when absent. */
  allowed?: readonly PropertyValue[]
  /** Values that fail. With them alone, an unknown value holds: not every device reports it. */
  refused?: readonly PropertyValue[]
  min?: number
  max?: number
  /** True for a condition that must also hold while the verb moves its device. */
  isWatched?: true
}

/** Position in a frame; the third coordinate is an altitude. */
export interface Position {
  frame: Frame
  /** `x_m` in the local frame, latitude in degrees on the globe. */
  x: number
  /** `y_m` in the local frame, longitude in degrees on the globe. */
  y: number
  altitude_m: number
}

/** Checks that a motion may waive; those of place and separation are none of them. */
type WaivableCheck = 'battery_percent' | 'battery_volts'

/** Motion of a plan, for the checks; part of its bounds as `motion`. */
export interface PlannedMotion {
  /** Positions that it passes, the last one being its end; empty for a motion without a known end. */
  path: readonly Position[]
  max_speed_m_s: number
  max_acceleration_m_s2?: number
  max_duration_s: number
  /**
   * Longest horizontal distance from its start, for a motion without a known end; speed and duration
   * bound it when absent.
   */
  reach_m?: number
  /** Return to the place of the launch, which the device reports; `path` is empty. */
  launch?: LaunchMotion
  /**
   * Checks that warn and neither refuse nor stop this motion, where it is safer than staying: a return
   * with a low battery. All others hold.
   */
  waives?: readonly WaivableCheck[]
  /** Altitude to which a motion without a known end rises or sinks; it keeps its own when absent. */
  end_altitude_m?: number
}

/** Way back: up to an altitude, straight to above the launch, and down, also below a least altitude. */
export interface LaunchMotion {
  frame: Frame
  /** Names of the properties that have the coordinates of the launch. */
  x: string
  y: string
  /** Altitude of the way, unless the device is higher. */
  altitude_m: number
}

/** Device as its plans see it; nothing here changes from call to call, and nothing is secret. */
export interface PlanTarget {
  device_id: string
  /** Addressing within its link: topics, system ids. */
  options: Readonly<Record<string, Json>>
  /** Limits in force, those of the verb included. */
  envelope: SafetyEnvelope
}

/** Operations of a verb, and their bounds. */
export interface DevicePlan {
  /** Operations exactly as they are sent to the device. */
  operations: Json[]
  motion?: PlannedMotion
  /** Further bounds of what is done. */
  bounds?: Readonly<Record<string, Json>>
}

export interface DeviceVerb<P extends z.ZodObject = z.ZodObject> {
  /** One sentence for approvers. */
  description: string
  params: P
  /** Hazard, or the highest one over all parameters where `hazardOf` is given. */
  hazard: Hazard
  hazardOf?(params: z.output<P>): Hazard
  /** Rule of `hazardOf` in words: `caution up to 0.3 m/s, unsafe above`. */
  hazardRule?: string
  /** Gate of unsafe uses; that of device commands when absent. */
  gate?: string
  /** Gate for these parameters, where it differs from `gate`: an override of the geofence. */
  gateOf?(params: z.output<P>): string | undefined
  /** True for stop, hold and land: they skip every queue and gate. Only for hazard `safe`. */
  isUrgent?: true
  /** True when repeating it changes nothing further. */
  isIdempotent: boolean
  /** Longest duration, in seconds. */
  timeoutSeconds: number
  interlocks?: readonly Interlock[]
  /** True for a verb that no limit of place or battery may hold up: stopping motors on the ground. */
  isExemptFromPlace?: true
  /** Limits of this verb, beside those of its device. */
  envelope?: SafetyEnvelope
  /** Effect of an e-stop while it runs. */
  atEstop: EstopBehaviour
  /**
   * Resolves parameters without side effects and without readings: equal calls give equal plans.
   * Throws ShoalError for what the device does not support.
   */
  plan(params: z.output<P>, target: PlanTarget): DevicePlan
}

/** Conditions on readings, each in place of the others; all conditions of one must hold. */
export type RestConditions = readonly (readonly Omit<Interlock, 'name'>[])[]

export interface DeviceProfile {
  /** Name of its file: `sim-rover`. */
  id: string
  title: string
  kind: DeviceKind
  link: LinkKind
  /** Readings by name, with the unit in the name. Shared names: see `devices/properties.ts`. */
  properties: Readonly<Record<string, PropertyFacts>>
  /** Verbs by name. */
  verbs: Readonly<Record<string, DeviceVerb>>
  /** Limits of every device of this profile. */
  envelope?: SafetyEnvelope
  /** Effect of an e-stop when no verb runs. */
  atEstop: EstopBehaviour
  /** Readings that show the device at rest; absent for one whose readings do not tell. */
  rest?: RestConditions
  /** Readings that show it on the ground, for a device that lands. */
  landed?: RestConditions
}

/** Declares a verb; keeps the type of its parameters. */
export const defineVerb = <P extends z.ZodObject>(verb: DeviceVerb<P>): DeviceVerb =>
  verb as unknown as DeviceVerb

export const defineProfile = (profile: DeviceProfile): DeviceProfile => profile
