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

/** Message that is published for a verb; `{name}` in the payload stands for a parameter. */
export interface MqttCommand {
  topic: string
  payload: Json
  /** Reading by which the device confirms that it was done. */
  confirm?: { property: string; value: PropertyValue }
  /** Value of the placeholder `{brightness}` at 100 %. */
  full?: number
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
  site?: string | undefined
  envelope?: SafetyEnvelope | undefined
}

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
}

export const parsePayload = (bytes: Buffer): Payload => {
  const text = bytes.toString('utf8')
  try {
    return { text, json: JSON.parse(text) }
  } catch {
    return { text, json: undefined }
  }
}
