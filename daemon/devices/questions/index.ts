import deviceEnvelope from './device-envelope.ts'
import type { DeviceQuestion } from './device-question.ts'
import mavlinkStatus from './mavlink-status.ts'
import mqttBrokers from './mqtt-brokers.ts'
import mqttRetained from './mqtt-retained.ts'
import mqttSubscribe from './mqtt-subscribe.ts'
import mqttTopics from './mqtt-topics.ts'
import printerStatus from './printer-status.ts'

/** Questions about devices that the coordinator may ask this cell; one line each, sorted. */
export const DEVICE_QUESTIONS: readonly DeviceQuestion[] = [
  deviceEnvelope,
  mavlinkStatus,
  mqttBrokers,
  mqttRetained,
  mqttSubscribe,
  mqttTopics,
  printerStatus,
]
