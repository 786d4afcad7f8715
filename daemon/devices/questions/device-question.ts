import type * as z from 'zod'
import type { LinkContext } from '../../../devices/device-link.ts'
import type { AnswerEvent } from '../../../shared/wire/answer-events.ts'
import type { DeviceHost } from '../device-host.ts'
import type { MqttBridge } from '../mqtt/mqtt-bridge.ts'

/** Services of the cell that a question about devices uses. */
export interface DeviceQuestionContext extends LinkContext {
  host: Pick<DeviceHost, 'find' | 'listDevices'>
  /** The MQTT brokers that operators reach through this cell. */
  mqtt: MqttBridge
  /** Aborts when the reader leaves. */
  signal: AbortSignal
  /** Capability level of the coordinator that asks. */
  level: number
}

/** A question about devices: a name below `/device/`, its input, and its answers. */
export interface DeviceQuestion<I extends z.ZodObject = z.ZodObject> {
  /** Name below the prefix: `mavlink-status`. */
  name: string
  input: I
  ask(input: z.output<I>, context: DeviceQuestionContext): AsyncIterable<AnswerEvent>
}

/** Declares a question; keeps the type of its input. */
export const defineDeviceQuestion = <I extends z.ZodObject>(
  question: DeviceQuestion<I>,
): DeviceQuestion => question as unknown as DeviceQuestion
