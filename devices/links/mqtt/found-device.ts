import type { PropertyValue } from '../../../shared/wire/device.ts'
import type { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import type { DeviceProfile, Json } from '../../profile.ts'

/** Payload of a message: its text, and its JSON value; undefined for text that is no JSON. */
export interface Payload {
  text: string
  json: unknown
}

/** Facts about a device that a message carries. */
export interface DeviceNews {
  available?: boolean
  /** Values by property, as they came; those that the profile does not know are dropped. */
  values?: Readonly<Record<string, unknown>>
  /** True when the message is no sign of life of the device itself, but of its bridge. */
  isFromBridge?: boolean
}

/** Values of the device at 0 and 100 percent. */
export interface PercentRange {
  zero: number
  full: number
}

/** Message that is published for a verb. */
export interface MqttCommand {
  topic: string
  payload: Json
  /** Reading by which the device confirms that it was done. */
  confirm?: Confirmation
  /**
   * True when `{name}` stands for a parameter. Otherwise braces stand for themselves: announcements
   * contain payloads of any form.
   */
  isTemplate?: true
  /** Range of the placeholder `{level}`, the parameter `percent` in the unit of the device. */
  range?: PercentRange
}

/** Reading that confirms a command. */
export interface Confirmation {
  property: string
  /** Expected value; the text `{name}` stands for a parameter. */
  value: PropertyValue
  /** Largest difference of a number. */
  within?: number
}

/** A message that is published without a command, because it changes nothing. */
export interface Question {
  topic: string
  payload: string
}

export type TopicReader = (payload: Payload) => DeviceNews | undefined

/** A device that a source has found, or that the configuration declares. */
export interface FoundDevice {
  /** Hardware identity where there is one: the same device has it on every broker. */
  identity: string
  name: string
  profile: DeviceProfile
  /** Commands by verb. */
  commands: Readonly<Record<string, MqttCommand>>
  /** Verb by which an e-stop stops it. */
  stopVerb?: string | undefined
  /** Readers of its messages by topic. */
  topics: ReadonlyMap<string, TopicReader>
  /** Topics that have to be online: all of them when absent. */
  availabilityMode?: AvailabilityMode | undefined
  /** Question by which a quiet device reports its state. */
  question?: Question | undefined
  /** Reason why the device accepts no commands; it accepts them when absent. */
  readOnlyReason?: string | undefined
  site?: string | undefined
  envelope?: SafetyEnvelope | undefined
}

/** Topics of availability that decide: all, one that is online, or the newest message. */
export type AvailabilityMode = 'all' | 'any' | 'latest'

/** Finds devices in the announcements on a broker. */
export interface Source {
  /** Filters of its announcements. */
  filters: readonly string[]
  /**
   * The devices that an announcement describes, all that there are for this topic; undefined for a
   * message that is no announcement. A device that an earlier message on the topic described and this
   * one does not is gone.
   */
  read(topic: string, payload: Payload): FoundDevice[] | undefined
  /** Question that a message calls for, where a device does not announce what it consists of. */
  ask?(topic: string, payload: Payload): Question | undefined
}

export const parsePayload = (bytes: Buffer): Payload => {
  const text = bytes.toString('utf8')
  try {
    return { text, json: JSON.parse(text) }
  } catch {
    return { text, json: undefined }
  }
}
