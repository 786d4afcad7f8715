import * as z from 'zod'
import { DEVICE_ID } from '../ids.ts'
import { VerbFacts, VerbName } from './command.ts'
import { MergedSafetyEnvelope } from './safety-envelope.ts'
import { Time } from './time.ts'

/** Kind of a device, as people group them. */
export const DeviceKind = z.enum([
  'robot',
  'drone',
  'printer',
  'switch',
  'light',
  'sensor',
  'other',
])
export type DeviceKind = z.infer<typeof DeviceKind>

/** How a cell reaches a device. */
export const LinkKind = z.enum(['sim', 'ros2', 'mavlink', 'bambu', 'mqtt', 'http'])
export type LinkKind = z.infer<typeof LinkKind>

/** Effect of an e-stop on a device: power off, stop in place, land, or nothing it could stop. */
export const EstopBehaviour = z.enum(['cut', 'hold', 'land', 'none'])
export type EstopBehaviour = z.infer<typeof EstopBehaviour>

/** Name of a property: `battery_percent`, with its unit. */
export const PropertyName = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/)

/** Value of a property; null while it is unknown. */
export const PropertyValue = z.union([z.number(), z.boolean(), z.string().max(256), z.null()])
export type PropertyValue = z.infer<typeof PropertyValue>

export const PropertyFacts = z.object({
  title: z.string().max(128),
  type: z.enum(['number', 'boolean', 'text']),
  /** Unit symbol, such as `m/s`; absent for a value without one. */
  unit: z.string().max(16).exactOptional(),
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  /** Values that a text can have, where they are known. */
  options: z.array(z.string().max(64)).max(64).exactOptional(),
  /** Age from which a reading counts as stale, in milliseconds. */
  stale_after_ms: z.int().positive().max(86_400_000),
})
export type PropertyFacts = z.infer<typeof PropertyFacts>

/** A verb of a device, as its profile declares it. */
export const DeviceVerbFacts = VerbFacts.extend({
  /** JSON Schema of the parameters. */
  params: z.record(z.string().max(128), z.json()),
  /** How the hazard depends on the parameters, in words; absent where it does not. */
  hazard_rule: z.string().max(160).exactOptional(),
  /** True when repeating it changes nothing further. */
  idempotent: z.boolean(),
  /** Gate of its unsafe uses; absent for the usual one. */
  gate: z.string().max(128).exactOptional(),
  /** Effect of an e-stop while it runs. */
  at_estop: EstopBehaviour,
})
export type DeviceVerbFacts = z.infer<typeof DeviceVerbFacts>

/** Device profile, as a cell announces it. */
export const DeviceProfileFacts = z.object({
  profile: VerbName,
  title: z.string().max(128),
  kind: DeviceKind,
  link: LinkKind,
  properties: z.record(PropertyName, PropertyFacts),
  verbs: z.array(DeviceVerbFacts).max(64),
})
export type DeviceProfileFacts = z.infer<typeof DeviceProfileFacts>

/** A stop whose device was not seen at rest. */
const UnconfirmedStop = z.object({
  /** Time of the first order, in unix milliseconds by the cell's clock. */
  since: Time,
  reason: z.string().max(300),
})

/** A device of a cell, configured or found. */
export const DeviceFacts = z.object({
  /** Stable, see `createDeviceId`. */
  device_id: z.string().regex(DEVICE_ID),
  name: z.string().min(1).max(128),
  /** One of the profiles that the cell announces. */
  profile: VerbName,
  site: z.string().max(64).nullable(),
  /** False when the cell cannot reach it; `reason` says why. */
  available: z.boolean(),
  reason: z.string().max(300).nullable(),
  /** False for a device that accepts no commands, such as a printer that is locked by its vendor. */
  writable: z.boolean(),
  /** Limits in force, merged to the most restrictive; a verb may add to them. Later ones are dropped. */
  envelope: MergedSafetyEnvelope.strip(),
  /** A stop that was not confirmed by rest, and is repeated; absent without one. */
  unconfirmed_stop: UnconfirmedStop.exactOptional(),
})
export type DeviceFacts = z.infer<typeof DeviceFacts>

/** Most devices, and most profiles, of one cell. */
export const MAX_DEVICES = 256
export const MAX_PROFILES = 64

/** Newest readings of a device. Times are unix milliseconds by the cell's clock. */
export const DeviceState = z.object({
  /** States of what the coordinator refused in the birth are dropped one by one. */
  device_id: z.string().max(64),
  /** Time of the newest sign of life; null before the first. */
  seen_at: z.int().nonnegative().nullable(),
  readings: z.record(PropertyName, z.object({ value: PropertyValue, at: z.int().nonnegative() })),
})
export type DeviceState = z.infer<typeof DeviceState>

/** Body of the `devices` topic: the states that changed, or all of them after a connect. */
export const DevicesBody = z.object({ states: z.array(DeviceState).max(MAX_DEVICES) })
export type DevicesBody = z.infer<typeof DevicesBody>
