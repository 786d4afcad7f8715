import type { IConnectPacket } from 'mqtt-packet'

/** Return codes of CONNACK (MQTT 3.1.1, table 3.1). */
export const UNACCEPTABLE_VERSION = 1
export const SERVER_UNAVAILABLE = 3
export const NOT_AUTHORISED = 5

const MQTT_3_1_1 = 4

/**
 * True for MQTT 3.1.1. Version 3.1 names its client ids and sessions by other rules, and what is
 * checked here is checked for one version only.
 */
export const isSupported = ({
  protocolVersion,
}: Pick<IConnectPacket, 'protocolVersion'>): boolean => protocolVersion === MQTT_3_1_1

/** Encodes a CONNACK that refuses the connection. */
export const connack = (returnCode: number): Buffer => Buffer.from([0x20, 2, 0, returnCode])
